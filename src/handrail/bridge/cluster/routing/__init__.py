"""Which machine does what was asked for, and what machines ask each other."""

"""Changes of the rules: what to suggest, how much it would allow, and how it takes effect."""

"""A sandbox of the kernel around a command: the files it may read and write, and the processes it may signal."""

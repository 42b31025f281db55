"""What is written to disk: the transcript, checkpoints of files, usage and cost."""

"""What a machine has written, and how it comes to NATS and back."""

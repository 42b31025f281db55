"""What the model is told before and besides the conversation."""

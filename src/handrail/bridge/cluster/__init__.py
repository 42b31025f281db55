"""Many machines over NATS JetStream."""

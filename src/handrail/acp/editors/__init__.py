"""Sessions in editors: Handrail as the agent of an ACP client."""

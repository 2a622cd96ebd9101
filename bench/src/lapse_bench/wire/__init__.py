"""What the contract costs on the wire, in bytes, and in a planner's tokens."""

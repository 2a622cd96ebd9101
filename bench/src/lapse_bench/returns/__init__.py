"""Returns: an agent left, the others went on, and it is decided what it may still act on."""

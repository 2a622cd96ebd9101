"""Worlds, drift, arms and scores that put lapse to the test; uses its public names only."""

"""Speed, as ratios within one run: a path of ours against the least that does the work."""

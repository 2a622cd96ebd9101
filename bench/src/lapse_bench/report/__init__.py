"""`lapse-bench report contract`: the printed numbers of the source text beside ours.

`printed` holds what the source text prints, `measuring` runs what can be run, `comparing` and its
neighbours put the two together cell by cell, `drawing` and `pages` show them. What the source text
left open has pages of its own: dependency vectors apart from the graph (`vectors`), more rotations
than three (`rotations`), and what words do (`wordings`).

Nothing is imported here: the command line starts without servers and without plots.
"""

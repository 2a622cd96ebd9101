"""Foresight put to the test: walk forward over a real history, predict, then look what happened.

At each origin, one horizon after the other, every model says for every live row and table how
likely it is to move within the horizon. It has been given what was committed up to the origin and
nothing else; the outcome is read afterwards. Rows that one commit moved are one observation, so
every interval comes from resampling whole periods of commits, and whole tables.
"""

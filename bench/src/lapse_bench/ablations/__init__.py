"""Admission with one mechanism taken out at a time, side by side in one run.

Each variant is a configuration of `lapse.admission.Policy`; nothing is patched. All variants of a
return see the same checkpoint, scans and answers, so that they differ in nothing else.
"""

"""Demonstrations, found by `lapse demo` through the entry points of group `lapse.demos`."""

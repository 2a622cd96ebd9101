"""The command `lapse`: where options and the environment become objects."""

from lapse.cli.main import main

__all__ = ["main"]

"""`python -m lapse.cli` is the command `lapse`."""

from lapse.cli.main import main

main()

"""`python -m muniment`: the command, also where its directory is on no path."""

from muniment.faces.cli import main

main()

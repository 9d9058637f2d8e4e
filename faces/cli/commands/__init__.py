"""The commands of the command line: a package for each topic, a file for each command."""

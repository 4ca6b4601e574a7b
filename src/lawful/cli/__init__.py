"""The command line: one file per command, found by name in lawful.cli.main."""

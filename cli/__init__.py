"""The `waypost` command: one module per subcommand."""

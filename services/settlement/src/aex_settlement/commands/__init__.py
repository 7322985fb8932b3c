"""What settlement adds to the `aex` command (entry points `aex.commands`; extra `commands`)."""

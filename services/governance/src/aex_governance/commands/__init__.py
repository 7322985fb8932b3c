"""What governance adds to the `aex` command (entry point `aex.commands`; extra `commands`)."""

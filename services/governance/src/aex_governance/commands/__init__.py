"""Commands that governance adds to `aex` (entry point `aex.commands`; extra `commands`)."""

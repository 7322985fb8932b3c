"""Commands of governance for `aex` (entry point `aex.commands`; extra `commands`)."""

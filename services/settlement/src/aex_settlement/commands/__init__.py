"""Commands that settlement adds to `aex` (entry points `aex.commands`; extra `commands`)."""

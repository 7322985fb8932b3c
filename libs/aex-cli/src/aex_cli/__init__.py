"""The package of the `aex` command. Services add further commands by entry points."""

"""Commands and queries on works. A command loads, decides, saves and emits events in one transaction."""

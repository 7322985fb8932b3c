"""One command a file: load, decide, then save and emit in one transaction."""

"""One command a file: load, decide, then save, emit and set timers in one transaction."""

"""Commands and readings, one a file: load, decide, save and emit."""

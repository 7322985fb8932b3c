"""Commands and questions, one file each: load, decide, save and emit in one unit of work."""

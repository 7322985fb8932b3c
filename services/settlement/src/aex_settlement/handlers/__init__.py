"""Commands and questions: each loads, decides, saves and emits in one unit of work."""

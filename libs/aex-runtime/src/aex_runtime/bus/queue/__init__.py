"""The parts of the embedded bus: a queue's table, the thread that writes it, and who is there to read it."""

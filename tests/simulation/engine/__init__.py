"""What makes a run the same each time: dice, virtual time, processes that end, and a record of every commit."""

"""Parts that make a run repeatable: dice, virtual time, processes, and a record of every commit."""

"""Work-publisher service: publication of works, their awards, and their secret evaluation data."""

"""A seeded simulator: the four services' handlers over a simulated store, bus and clock, with faults."""

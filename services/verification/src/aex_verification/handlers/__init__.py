"""Commands on contracts: load, decide, then save, emit and set timers in one transaction."""

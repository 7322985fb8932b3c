"""Settlement service: the ledger, its sealed journal, settlements of outcomes, and breakdowns."""

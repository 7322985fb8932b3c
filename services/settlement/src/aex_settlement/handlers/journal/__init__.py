"""From the ledger to the sealed journal, and from the journal to the projections."""

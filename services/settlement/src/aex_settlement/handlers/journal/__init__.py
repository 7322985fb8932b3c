"""Sealing of ledger transactions into the journal, and its projections: updates and rebuilds."""

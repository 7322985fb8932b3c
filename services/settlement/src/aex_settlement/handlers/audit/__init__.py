"""The audit of the ledger: journal, transactions, settlements and projections."""

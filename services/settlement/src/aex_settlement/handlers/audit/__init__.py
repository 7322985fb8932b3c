"""Audit of the ledger: journal, transactions, settlements and projections."""

"""Ledger, settlements and breakdowns."""

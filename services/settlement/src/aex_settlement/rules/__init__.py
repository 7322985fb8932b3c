"""Decisions of settlement as pure functions: transactions, corrections, visibility, journal and audit."""

"""Verification service: contracts, candidates, attempts, verdicts and outcomes."""

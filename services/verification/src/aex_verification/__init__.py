"""Contracts, candidates, attempts and outcome records."""

"""Bounded revision: the state machine of a contract, and verifiers with their rulings."""

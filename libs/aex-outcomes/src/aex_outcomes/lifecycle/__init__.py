"""Lifecycle of a contract: its state machine, the revision loop, and verifiers with their rulings."""

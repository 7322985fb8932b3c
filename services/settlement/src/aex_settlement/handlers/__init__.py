"""Use cases of the service: commands that post to the ledger, and queries."""

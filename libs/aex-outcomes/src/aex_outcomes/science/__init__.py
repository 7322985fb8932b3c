"""Scientific verification: domains, recomputation from raw data, reconciliation, peer review and gate."""

"""Who calls, and who vouches for it: local key, token issuers, verification of tokens."""

"""Identity: the local key, token issuers, verification of tokens, and tokens between services."""

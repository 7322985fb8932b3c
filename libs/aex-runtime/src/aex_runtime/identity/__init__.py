"""Identity of callers: the signing key, issuers, verification of tokens, tokens between services."""

"""What an audit of the ledger finds. Pure."""

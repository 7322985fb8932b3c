"""Books of any size for the ledger's benchmark: how they are made, added up anew, and read."""

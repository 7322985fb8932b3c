"""The benchmark of a large ledger: drawn, written, sealed, recounted, read and exported."""

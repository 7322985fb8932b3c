"""Reading of untrusted files of raw data into a table of a locked in-memory database."""

"""Reading of hostile files of raw data into one table of a locked database."""

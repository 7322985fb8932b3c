"""Statistics over a table: SQL to select and sum rows, exact arithmetic for the result."""

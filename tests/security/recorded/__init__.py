"""The real services on a bus that keeps a copy of whatever is published."""

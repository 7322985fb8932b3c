"""What fails, and how often."""

"""What holds whatever happens, and who looks whether it does."""

"""Settlement over messages that make its handler fail, or that kill its process."""

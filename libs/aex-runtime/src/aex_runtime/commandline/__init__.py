"""What the commands of all packages share: their errors, what they print, and the way into a service's store."""

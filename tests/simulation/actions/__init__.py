"""What parties, operators and the platform itself do: the functions that a plan names are public ones here."""

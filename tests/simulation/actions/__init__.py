"""Actions of parties, operators and platform; a plan names the public functions."""

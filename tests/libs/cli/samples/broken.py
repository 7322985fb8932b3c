"""A service that cannot start, and says why in its log."""

raise SystemExit("the store is on fire")

"""Real parts put together differently: for tests that need no network and no processes."""

"""The sandbox: consumers' own metric code, run where it can reach nothing."""

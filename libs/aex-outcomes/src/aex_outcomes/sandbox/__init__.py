"""Sandbox that runs consumers' metric code without access to files, network or processes."""

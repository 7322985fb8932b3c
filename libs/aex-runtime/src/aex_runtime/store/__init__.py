"""Records: one port, an embedded and a Google backend, one contract suite."""

"""The sealed journal and its projections: sealing, projecting, rebuilding."""

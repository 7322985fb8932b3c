"""Pure decisions: who may see a work, and where it may go from where it stands."""

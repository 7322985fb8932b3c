"""The projections made anew from the log, in a generation of their own beside the one that is read."""

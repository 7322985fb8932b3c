"""Pure functions on texts: normal forms, recognition of prose, layout, and sketches."""

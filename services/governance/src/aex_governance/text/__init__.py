"""Pure functions on texts: normal forms, prose and its words, layout, sketches."""

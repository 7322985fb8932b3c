"""A labelled corpus of honest and fraudulent work, and how governance does on it."""

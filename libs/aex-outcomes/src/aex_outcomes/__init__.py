"""The outcome verification framework: engine, extractors, lifecycle, confined workers."""

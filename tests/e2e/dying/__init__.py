"""Services that kill themselves between a commit and its publication, once; otherwise the real ones."""

"""Translation of promptfoo configurations."""

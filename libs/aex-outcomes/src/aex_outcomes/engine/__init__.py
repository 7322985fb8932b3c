"""The verification engine: from a candidate and its criteria to a verdict and its amounts."""

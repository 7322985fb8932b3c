"""The version of this package, part of the `engine_version` of every verdict."""

VERSION = "0.1.0"

ENGINE_VERSION = f"aex-outcomes/{VERSION}"
"""The engine of a verdict without an extractor. Others add a fingerprint of extractors and settings."""

"""The version of this package, part of the `engine_version` that every verdict records."""

VERSION = "0.1.0"

ENGINE_VERSION = f"aex-outcomes/{VERSION}"
"""The engine of a verdict to which no extractor contributed. Others add a fingerprint of extractors and settings."""

"""Uploaded files: the raw data of consumers, the artifacts of agents."""

from aex_models.frozen import Frozen, Sha256

MAX_UPLOAD_BYTES = 100_000_000
MAX_INLINE_BYTES = 5_000_000
"""Of one artifact inside a candidate, decoded; larger ones are uploaded first."""
MAX_TOTAL_BYTES = 500_000_000
"""Of all files that one work, or one candidate, names: they are written out side by side to be read."""


class UploadedArtifact(Frozen):
    """The answer to an upload: what a work or a candidate names it by."""

    sha256: Sha256
    size: int
    """In bytes."""

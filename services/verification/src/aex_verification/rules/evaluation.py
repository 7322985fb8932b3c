"""The evaluation data behind a work, out of the salted blob that work-publisher wrote."""

from aex_models.work import EvaluationBlob

AREA = "evaluation"
"""Where the blobs lie."""


def read_blob(content: bytes) -> EvaluationBlob:
    """The blob. Raises pydantic's `ValidationError`, whose text may quote the data."""
    return EvaluationBlob.model_validate_json(content)

"""The evaluation data behind a work, out of the salted blob that work-publisher wrote."""

from aex_models.work import Evaluation, EvaluationBlob


def read_evaluation(content: bytes) -> Evaluation | None:
    """The evaluation data of a blob; None where it holds other secrets alone."""
    return EvaluationBlob.model_validate_json(content).evaluation

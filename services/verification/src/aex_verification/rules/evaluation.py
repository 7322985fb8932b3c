"""The form of an evaluation blob: the data with a salt, so that its digest tells nothing about them."""

import json

from aex_models.work import Evaluation


def read_evaluation(content: bytes) -> Evaluation:
    """The evaluation data of a blob `{salt, evaluation}`."""
    return Evaluation.model_validate(json.loads(content)["evaluation"])

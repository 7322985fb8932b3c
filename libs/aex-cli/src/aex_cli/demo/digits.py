"""Work 2: read 150 handwritten digits. The images are the input, their labels the consumer's secret."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from aex_models.work import WorkSubmission
from aex_runtime.commandline.errors import UserError

TEST_SIZE = 150
SIDE = 8
"""The images have 8 × 8 pixels of 0 (paper) to 16 (ink)."""

Image = tuple[int, ...]
"""The pixels of an image, row by row."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Images and the digits that they show."""

    images: Sequence[Image]
    labels: Sequence[int]


def require_package(module: str, package: str) -> None:
    """Raise `UserError` where the module's package is not installed. Does not import it: that may take a second."""
    if find_spec(module) is None:
        raise UserError(f"the demo needs {package}, which is not installed", "pip install 'aex-cli[demo]'")


def load_examples() -> tuple[Examples, Examples]:
    """The digits that scikit-learn brings along (UCI, 1998), split: for the agent to learn from, for the consumer."""
    from sklearn.datasets import load_digits  # noqa: PLC0415 it takes a second, beside the services' start
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    data, target = load_digits(return_X_y=True)
    images = [tuple(int(pixel) for pixel in each) for each in data]
    labels = [int(label) for label in target]
    known, asked, known_labels, asked_labels = train_test_split(
        images, labels, test_size=TEST_SIZE, stratify=labels, random_state=0
    )
    return Examples(known, known_labels), Examples(asked, asked_labels)


def digits_work(asked: Examples) -> WorkSubmission:
    """The work as its consumer submits it: F1 counts 0.6, the agent's own confidence 0.4; whoever is first may claim.

    Of two criteria with these weights a minimum of 0.75 needs both.
    """
    ids = [f"digit-{place:03}" for place in range(len(asked.images))]
    return WorkSubmission.model_validate(
        {
            "title": "Read handwritten digits",
            "description": f"Images of {SIDE} × {SIDE} pixels, row by row, 0 is paper and 16 is ink. Answer as "
            '{"predictions": [{"id": "…", "label": 7, "confidence": 0.98}, …]}.',
            "domain": "vision/digits",
            "input": {"images": [{"id": i, "pixels": list(each)} for i, each in zip(ids, asked.images, strict=True)]},
            "evaluation": {
                "ground_truth": [{"id": i, "label": label} for i, label in zip(ids, asked.labels, strict=True)]
            },
            "success_criteria": {
                "criteria": _CRITERIA,
                "aggregation": "weighted",
                "minimum_weighted_score": 0.75,
            },
            "budget": {
                "max_cpc": "0.60",
                "max_cpa_total": "0.40",
                "max_penalty_total": "0.20",
                "base_policy": "on_success",
            },
            "verification": {"max_attempts": 2},
            "allow_claims": True,
        }
    )


_CRITERIA = (
    {
        "metric": "f1_score",
        "metric_type": "f1_score",
        "comparison": "gte",
        "threshold": 0.9,
        "weight": 0.6,
        "bonus": "0.40",
        "penalty": "0.10",
    },
    {
        "metric": "confidence",
        "metric_type": "percentage",
        "comparison": "gte",
        "threshold": 0.8,
        "scale": "fraction",
        "weight": 0.4,
    },
)

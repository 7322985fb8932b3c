"""Work 1: summarise a page of Darwin. Five criteria; the reference summary is the consumer's secret."""

from aex_cli.demo.texts import text
from aex_models.work import WorkSubmission

CPC_RATE = "0.40"
"""What the consumer awards the work at, below its `max_cpc`."""
KEY_TERMS = ("struggle for existence", "destruction", "geometrical increase", "survive")


def summary_work() -> WorkSubmission:
    """The work as its consumer submits it: ROUGE-L, length, key terms and latency gate success.

    Closeness word pair by word pair (rouge2) is wanted, not required: a bonus where it is reached, and a small
    penalty where it is not.
    """
    return WorkSubmission.model_validate(
        {
            "title": "Summarise a page of Darwin",
            "description": "The struggle for existence, On the Origin of Species (1859), chapter III, in 400 to 800 "
            'characters. Answer as {"text": "…"}.',
            "domain": "text/summarisation",
            "input": {"text": text("darwin.txt")},
            "evaluation": {"reference": text("reference.txt")},
            "success_criteria": {"criteria": _CRITERIA},
            "budget": {"max_cpc": "0.50", "max_cpa_total": "0.40", "max_penalty_total": "0.20"},
            "verification": {"max_attempts": 3},
        }
    )


_CRITERIA = (
    {
        "metric": "rougeL",
        "metric_type": "rouge_score",
        "comparison": "gte",
        "threshold": 0.45,
        "bonus": "0.20",
        "penalty": "0.10",
    },
    {
        "metric": "rouge2",
        "metric_type": "rouge_score",
        "comparison": "gte",
        "threshold": 0.5,
        "required": False,
        "bonus": "0.10",
        "penalty": "0.02",
    },
    {
        "metric": "contains_keywords",
        "metric_type": "contains",
        "comparison": "contains_all",
        "threshold": list(KEY_TERMS),
        "bonus": "0.05",
        "penalty": "0.05",
    },
    {
        "metric": "output_length",
        "metric_type": "count",
        "comparison": "in_range",
        "threshold": {"min": 400, "max": 800},
        "penalty": "0.03",
    },
    {
        "metric": "latency_ms",
        "metric_type": "latency",
        "comparison": "lte",
        "threshold": 5000,
        "bonus": "0.05",
    },
)

"""Whether a reviewer is asked of a candidate, and what of its output they read."""

import json
from typing import Any

from aex_models.examination import Examination
from aex_models.faults import Fault
from aex_models.science import Science
from aex_models.science_checks import PEER_REVIEW


def wants_review(science: Science, examination: Examination) -> bool:
    """Where the work demands it, also of what arithmetic refused: a reviewer's words help.

    Not without the data: there is no verdict then, whatever a reader thinks.
    """
    lost = any(problem.fault is Fault.PLATFORM for problem in examination.problems)
    return PEER_REVIEW in science.checks and not lost


def output_text(output: Any) -> str:
    """The output as a reviewer reads it: a text as it is, everything else as JSON."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)

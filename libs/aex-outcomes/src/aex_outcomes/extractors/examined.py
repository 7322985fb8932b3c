"""What the science gate concluded of a candidate, as extractors find it in the metadata: no agent writes it there."""

from collections.abc import Mapping
from typing import Any

from aex_models.examination import DataProblem
from aex_models.faults import Fault
from aex_models.science import ScienceResult
from aex_outcomes.extractors.protocol import AgentFault, PlatformFault

SCIENCE = "science_result"
"""The key of the metadata under which the platform alone writes the `ScienceResult` as JSON."""


def examined(metadata: Mapping[str, Any]) -> ScienceResult:
    """What was concluded. Raises `PlatformFault` where nothing was examined: such metrics need the work's `science`."""
    found = metadata.get(SCIENCE)
    if found is None:
        raise PlatformFault("science_missing", "nothing was examined: the work has no science")
    return ScienceResult.model_validate(found)


def fault_of(problem: DataProblem) -> AgentFault | PlatformFault:
    """A problem with data, as the fault of whoever's data they are."""
    kind = PlatformFault if problem.fault is Fault.PLATFORM else AgentFault
    return kind(problem.code, problem.message)


def platform_fault(result: ScienceResult) -> PlatformFault | None:
    """Why the data that the platform was to read could not be read; None where they could."""
    for problem in result.examination.problems:
        if problem.fault is Fault.PLATFORM:
            return PlatformFault(problem.code, problem.message)
    return None

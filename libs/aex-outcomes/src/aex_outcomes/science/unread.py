"""Files that a worker did not outlive: whose fault that is, and what is left to read without them."""

from collections.abc import Sequence

from aex_models.examination import DataOwner, DataProblem, Examination
from aex_models.faults import Fault
from aex_outcomes.science.source import SourceFile

OUT_OF_MEMORY, TIMED_OUT, CRASHED = "out_of_memory", "timed_out", "crashed"
_WHY = {
    OUT_OF_MEMORY: "Reading the data took more memory than there is for it; send fewer rows or columns",
    TIMED_OUT: "Reading the data took longer than it may; send fewer rows or columns",
    CRASHED: "The data could not be read to an end; send them as plain CSV",
}

_NOT_THERE = frozenset({"artifact_missing", "column_missing"})


def left_to_read(files: Sequence[SourceFile]) -> tuple[SourceFile, ...]:
    """What is tried next after a worker that was lost over these: the consumer's files alone, and after those none."""
    own = tuple(file for file in files if file.owner is DataOwner.CONSUMER)
    return own if len(own) < len(files) else ()


def blamed(files: Sequence[SourceFile], code: str) -> DataProblem:
    """The problem that a worker was lost over these files, `code` one of the three above.

    The candidate's files are to blame where there are any; else the consumer's, which is not the agent's fault.
    """
    theirs = [file for file in files if file.owner is DataOwner.AGENT]
    suspects = theirs or files
    return DataProblem(
        code=code,
        message=_WHY[code],
        artifact=suspects[0].name if len(suspects) == 1 else None,
        fault=Fault.AGENT if theirs else Fault.PLATFORM,
    )


def starved(found: Examination) -> str | None:
    """The code of a file of the consumer's that was too much for the time or the memory there was; None: none was."""
    codes = (each.code for each in found.problems if each.fault is Fault.PLATFORM)
    return next((code for code in codes if code in {OUT_OF_MEMORY, TIMED_OUT}), None)


def with_loss(found: Examination, lost: DataProblem) -> Examination:
    """What was found without the files that were left out: what was to come of those is lost with them, not missing."""
    told = (_lost_too(each, lost) if _is_missing(each) else each for each in found.problems)
    return found.model_copy(update={"problems": (lost, *told)})


def _is_missing(problem: DataProblem) -> bool:
    return problem.fault is Fault.AGENT and problem.name is not None and problem.code in _NOT_THERE


def _lost_too(problem: DataProblem, lost: DataProblem) -> DataProblem:
    return lost.model_copy(update={"name": problem.name})

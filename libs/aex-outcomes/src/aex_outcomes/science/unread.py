"""Files that a worker did not outlive: whose fault that is, and what is left to read without them."""

from collections.abc import Sequence

from aex_models.faults import Fault
from aex_models.science import DataOwner, DataProblem
from aex_outcomes.science.source import SourceFile

OUT_OF_MEMORY, TIMED_OUT, CRASHED = "out_of_memory", "timed_out", "crashed"
_WHY = {
    OUT_OF_MEMORY: "Reading the data took more memory than there is for it; send fewer rows or columns",
    TIMED_OUT: "Reading the data took longer than it may; send fewer rows or columns",
    CRASHED: "The data could not be read to an end; send them as plain CSV",
}


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

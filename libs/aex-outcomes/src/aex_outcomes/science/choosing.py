"""Which file a statistic is computed from: the consumer's own before the agent's, and never the agent's instead."""

from collections.abc import Sequence

from aex_models.faults import Fault
from aex_models.science import DataOwner, DataProblem
from aex_models.statistics import StatisticSpec
from aex_outcomes.science.tables.errors import DataError, listed
from aex_outcomes.science.tables.opened import OpenedFile


class Unserved(Exception):
    """No file can serve a statistic."""

    def __init__(self, problem: DataProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def in_order(files: Sequence[OpenedFile]) -> list[OpenedFile]:
    """The consumer's files, then the agent's."""
    return sorted(files, key=lambda each: each.file.owner is not DataOwner.CONSUMER)


def problem_of(error: DataError, file: OpenedFile, name: str | None = None) -> DataProblem:
    """What is wrong with a file, or with a statistic of it (`name`): its owner's fault, and the consumer's is ours."""
    return DataProblem(
        code=error.code,
        message=error.message,
        name=name,
        artifact=file.file.name,
        fault=Fault.PLATFORM if file.file.owner is DataOwner.CONSUMER else Fault.AGENT,
    )


def chosen(spec: StatisticSpec, files: Sequence[OpenedFile]) -> OpenedFile:
    """The file of that name, else the first that has the columns; `files` in their order. Raises `Unserved`.

    A consumer's file that cannot be read ends the search: it may have the columns, and the agent's would be taken
    instead of it.
    """
    named = [each for each in files if spec.artifact in (None, each.file.name)]
    if spec.artifact is not None:
        named = named[:1]
    unread: DataProblem | None = None
    for each in named:
        try:
            has = set(each.columns)
        except DataError as error:
            unread = unread or problem_of(error, each, spec.name)
            if each.file.owner is DataOwner.CONSUMER:
                break
            continue
        if has.issuperset(spec.needed_columns):
            return each
    raise Unserved(unread or _missing(spec, named, files))


def _missing(spec: StatisticSpec, looked_at: Sequence[OpenedFile], files: Sequence[OpenedFile]) -> DataProblem:
    if not looked_at:
        what = (
            f"no file is called so; there are {listed(each.file.name for each in files)}" if files else "no file came"
        )
        return DataProblem(code="artifact_missing", message=what, name=spec.name, artifact=spec.artifact)
    best = min(looked_at, key=lambda each: len(set(spec.needed_columns) - set(each.columns)))
    gone = [name for name in spec.needed_columns if name not in best.columns]
    message = f"no column {listed(gone)}; there are {listed(best.columns)}"
    if spec.artifact is not None:
        return problem_of(DataError("column_missing", message), best, spec.name)
    return DataProblem(code="column_missing", message=message, name=spec.name, artifact=best.file.name)

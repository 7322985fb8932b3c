"""Which file a statistic is computed from: the consumer's own before the agent's, and never the agent's instead."""

from collections.abc import Sequence

from aex_models.examination import DataOwner, DataProblem
from aex_models.faults import Fault
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
        secret=file.file.owner is DataOwner.CONSUMER,
    )


def of_one_owner(files: Sequence[OpenedFile]) -> list[OpenedFile]:
    """The consumer's alone where there are any: what nobody named a file for is never looked for in the agent's then.

    Of its default statistics, and of the checks of the score column.
    """
    return _own(files) or list(files)


def chosen(spec: StatisticSpec, files: Sequence[OpenedFile]) -> OpenedFile:
    """The file of that name, else the first that has the columns; `files` in their order. Raises `Unserved`.

    Without a name the agent's files serve only where no file of the consumer's has any of the columns. One of those
    that cannot be read ends the search: it may have them, and the agent's would be taken instead of it.
    """
    if spec.artifact is not None:
        return _named(spec, spec.artifact, files)
    own = _own(files)
    served, unread = _first_with_all(spec, own)
    if served is None and unread is None and not any(set(each.columns) & set(spec.needed_columns) for each in own):
        theirs = [each for each in files if each not in own]
        served, unread = _first_with_all(spec, theirs)
        if served is None and unread is None:
            raise Unserved(_not_sent(spec, theirs))
    if served is None:
        raise Unserved(unread or _apart(spec, own))
    return served


def _own(files: Sequence[OpenedFile]) -> list[OpenedFile]:
    return [each for each in files if each.file.owner is DataOwner.CONSUMER]


def _named(spec: StatisticSpec, name: str, files: Sequence[OpenedFile]) -> OpenedFile:
    """The consumer's of that name before the agent's."""
    file = next((each for each in files if each.file.name == name), None)
    if file is None:
        raise Unserved(_no_such_file(spec, name, files))
    served, unread = _first_with_all(spec, [file])
    if served is None:
        raise Unserved(unread or _lacking(spec, file))
    return served


def _first_with_all(spec: StatisticSpec, files: Sequence[OpenedFile]) -> tuple[OpenedFile | None, DataProblem | None]:
    """The first file that has all of the columns, or else what is wrong with the first that cannot be read."""
    unread: DataProblem | None = None
    for each in files:
        try:
            if set(each.columns).issuperset(spec.needed_columns):
                return each, None
        except DataError as error:
            unread = unread or problem_of(error, each, spec.name)
            if each.file.owner is DataOwner.CONSUMER:
                break
    return None, unread


def _no_such_file(spec: StatisticSpec, name: str, files: Sequence[OpenedFile]) -> DataProblem:
    there = f"there are {listed(each.file.name for each in files)}" if files else "no file came"
    message = f"no file is called so, {there}; {_to_send(spec)}"
    return DataProblem(code="artifact_missing", message=message, name=spec.name, artifact=name)


def _lacking(spec: StatisticSpec, file: OpenedFile) -> DataProblem:
    """The columns that the file of that name has not; those that it has are told where they are the agent's."""
    gone = listed(name for name in spec.needed_columns if name not in file.columns)
    there = f"; there are {listed(file.columns)}" if file.file.owner is DataOwner.AGENT else ""
    return problem_of(DataError("column_missing", f"no column {gone}{there}"), file, spec.name)


def _apart(spec: StatisticSpec, own: Sequence[OpenedFile]) -> DataProblem:
    """Some of the columns are in the consumer's files, and no file has all: nothing that an agent could mend."""
    best = min(own, key=lambda each: len(set(spec.needed_columns) - set(each.columns)))
    gone = listed(name for name in spec.needed_columns if name not in best.columns)
    message = f"of the columns that it needs, no file of the work's own data has all: no column {gone}"
    return problem_of(DataError("column_missing", message), best, spec.name)


def _not_sent(spec: StatisticSpec, theirs: Sequence[OpenedFile]) -> DataProblem:
    """The agent may still send a file that has them. What the consumer's files have is not told."""
    if not theirs:
        return DataProblem(code="artifact_missing", message=f"no file came; {_to_send(spec)}", name=spec.name)
    best = min(theirs, key=lambda each: len(set(spec.needed_columns) - set(each.columns)))
    lacking = _lacking(spec, best)
    return lacking.model_copy(update={"message": f"{lacking.message}; {_to_send(spec)}"})


def _to_send(spec: StatisticSpec) -> str:
    columns = spec.needed_columns
    return f"send a file with the columns {listed(columns)}" if columns else "send a file"

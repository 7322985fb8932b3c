"""Selection of the file for a statistic: the consumer's own before the agent's."""

from collections.abc import Sequence

from aex_models.examination import DataOwner, DataProblem, Fault
from aex_models.statistics import StatisticSpec
from aex_outcomes.science.tables.file_checks import DataError, quote_names
from aex_outcomes.science.tables.source_table import OpenedFile


class NoUsableFile(Exception):
    """A statistic that no file can serve."""

    def __init__(self, problem: DataProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def problem_of(error: DataError, file: OpenedFile, name: str | None = None) -> DataProblem:
    """Return the problem of a file, or of its statistic `name`: the platform's for the consumer's files."""
    secret = file.file.owner is DataOwner.CONSUMER
    fault = Fault.PLATFORM if secret else Fault.AGENT
    return DataProblem(
        code=error.code, message=error.message, name=name, artifact=file.file.name, fault=fault, secret=secret
    )


def default_files(files: Sequence[OpenedFile]) -> list[OpenedFile]:
    """Return the consumer's files, or all files without those, for statistics that name no file."""
    return _consumer_files(files) or list(files)


def select_file(spec: StatisticSpec, files: Sequence[OpenedFile]) -> OpenedFile:
    """Return the named file, else the first of `files` with the columns. Raises `NoUsableFile`.

    Without a name the agent's files serve only where no file of the consumer's has any of the columns. An unreadable
    file of the consumer's ends the search: it may have the columns, and must not be replaced by the agent's.
    """
    if spec.artifact is not None:
        file = next((each for each in files if each.file.name == spec.artifact), None)
        if file is None:
            raise NoUsableFile(_missing_file_problem(spec, spec.artifact, files))
        served, unread = _first_with_all(spec, [file])
        if served is None:
            raise NoUsableFile(unread or _missing_columns_problem(spec, file))
        return served
    consumer_files = _consumer_files(files)
    served, unread = _first_with_all(spec, consumer_files)
    needed = set(spec.needed_columns)
    if served is None and unread is None and not any(needed & set(each.columns) for each in consumer_files):
        agent_files = [each for each in files if each not in consumer_files]
        served, unread = _first_with_all(spec, agent_files)
        if served is None and unread is None:
            raise NoUsableFile(_unsent_file_problem(spec, agent_files))
    if served is None:
        raise NoUsableFile(unread or _split_columns_problem(spec, consumer_files))
    return served


def _consumer_files(files: Sequence[OpenedFile]) -> list[OpenedFile]:
    return [each for each in files if each.file.owner is DataOwner.CONSUMER]


def _first_with_all(spec: StatisticSpec, files: Sequence[OpenedFile]) -> tuple[OpenedFile | None, DataProblem | None]:
    """Return the first file with all of the columns, or the problem of the first unreadable one."""
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


def _missing_file_problem(spec: StatisticSpec, name: str, files: Sequence[OpenedFile]) -> DataProblem:
    there = f"there are {quote_names(each.file.name for each in files)}" if files else "no file came"
    message = f"no file is called so, {there}; {_instruction(spec)}"
    return DataProblem(code="artifact_missing", message=message, name=spec.name, artifact=name)


def _missing_columns_problem(spec: StatisticSpec, file: OpenedFile) -> DataProblem:
    """Return the problem of missing columns; the existing ones are listed only for the agent's file."""
    gone = quote_names(name for name in spec.needed_columns if name not in file.columns)
    there = f"; there are {quote_names(file.columns)}" if file.file.owner is DataOwner.AGENT else ""
    return problem_of(DataError("column_missing", f"no column {gone}{there}"), file, spec.name)


def _split_columns_problem(spec: StatisticSpec, own: Sequence[OpenedFile]) -> DataProblem:
    """Return the problem of columns that no single file of the consumer's has, which no agent can repair."""
    best = min(own, key=lambda each: len(set(spec.needed_columns) - set(each.columns)))
    gone = quote_names(name for name in spec.needed_columns if name not in best.columns)
    message = f"of the columns that it needs, no file of the work's own data has all: no column {gone}"
    return problem_of(DataError("column_missing", message), best, spec.name)


def _unsent_file_problem(spec: StatisticSpec, agent_files: Sequence[OpenedFile]) -> DataProblem:
    """Return the problem of a file that the agent may still send. The consumer's columns stay secret."""
    if not agent_files:
        return DataProblem(code="artifact_missing", message=f"no file came; {_instruction(spec)}", name=spec.name)
    best = min(agent_files, key=lambda each: len(set(spec.needed_columns) - set(each.columns)))
    lacking = _missing_columns_problem(spec, best)
    return lacking.model_copy(update={"message": f"{lacking.message}; {_instruction(spec)}"})


def _instruction(spec: StatisticSpec) -> str:
    columns = spec.needed_columns
    return f"send a file with the columns {quote_names(columns)}" if columns else "send a file"

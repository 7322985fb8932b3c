"""Selection of the file that a statistic is computed from: a consumer's file before an agent's."""

from collections.abc import Sequence

from aex_models.examination import DataOwner, DataProblem, Fault
from aex_models.statistics import StatisticSpec
from aex_models.tables import DerivedColumn
from aex_outcomes.science.derived import replace_derived_by_inputs
from aex_outcomes.science.tables.file_checks import DataError, quote_names_for_message
from aex_outcomes.science.tables.source_table import OpenedFile


class NoUsableFile(Exception):
    """Error for a statistic that no file can serve; `problem` says why and who is at fault."""

    def __init__(self, problem: DataProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def build_data_problem(error: DataError, file: OpenedFile, statistic_name: str | None = None) -> DataProblem:
    """Return the error as a problem of a statistic, or without its name as a problem of the complete file.

    For the consumer's data the platform is at fault and the problem is secret; for the agent's the agent is.
    """
    owner = error.owner or file.owner_of(error.column)
    return DataProblem(
        code=error.code,
        message=error.message,
        name=statistic_name,
        artifact=file.file.name,
        fault=Fault.PLATFORM if owner is DataOwner.CONSUMER else Fault.AGENT,
        secret=owner is DataOwner.CONSUMER or (error.owner is None and file.is_secret),
    )


def prefer_consumer_files(files: Sequence[OpenedFile]) -> list[OpenedFile]:
    """Return the consumer's files, or all files if the consumer has none."""
    return _consumer_files(files) or list(files)


def select_file_for_statistic(
    spec: StatisticSpec, files: Sequence[OpenedFile], derived: Sequence[DerivedColumn] = ()
) -> OpenedFile:
    """Return the file that the statistic names, else the first file with all of its columns.

    Raises `NoUsableFile`. Without a name the consumer's files are searched first. The agent's serve only if no
    consumer's file has any of the columns. An unreadable consumer's file ends the search: it may have the columns, and
    no agent's file may replace it.
    """
    own_columns = replace_derived_by_inputs(
        spec.needed_columns, [each for each in derived if spec.artifact in (None, each.artifact) or not each.artifact]
    )
    if spec.artifact is not None:
        file = next((each for each in files if each.file.name == spec.artifact), None)
        if file is None:
            raise NoUsableFile(_missing_file_problem(spec, spec.artifact, files, own_columns))
        served, unread = _first_with_all(spec, [file])
        if served is None:
            raise NoUsableFile(unread or _missing_columns_problem(spec, file, own_columns))
        return served
    consumer_files = _consumer_files(files)
    served, unread = _first_with_all(spec, consumer_files)
    needed = {*spec.needed_columns, *own_columns}
    if served is None and unread is None and not any(needed & set(each.columns) for each in consumer_files):
        agent_files = [each for each in files if each not in consumer_files and not each.is_join]
        served, unread = _first_with_all(spec, agent_files)
        if served is None and unread is None:
            raise NoUsableFile(_unsent_file_problem(spec, agent_files, own_columns))
    if served is None:
        raise NoUsableFile(unread or _split_columns_problem(spec, consumer_files, own_columns))
    return served


def _consumer_files(files: Sequence[OpenedFile]) -> list[OpenedFile]:
    return [each for each in files if each.file.owner is DataOwner.CONSUMER and not each.is_join]


def _first_with_all(spec: StatisticSpec, files: Sequence[OpenedFile]) -> tuple[OpenedFile | None, DataProblem | None]:
    """Return the first file with all columns of the statistic, and the first unreadable file's problem.

    At least one of the two is None. An unreadable consumer's file ends the search.
    """
    unread: DataProblem | None = None
    for each in files:
        try:
            if set(each.columns).issuperset(spec.needed_columns):
                return each, None
        except DataError as error:
            unread = unread or build_data_problem(error, each, spec.name)
            if each.file.owner is DataOwner.CONSUMER:
                break
    return None, unread


def _missing_file_problem(
    spec: StatisticSpec, name: str, files: Sequence[OpenedFile], own_columns: Sequence[str]
) -> DataProblem:
    there = f"there are {quote_names_for_message(each.file.name for each in files)}" if files else "no file came"
    message = f"no file is called so, {there}; {_instruction(own_columns)}"
    return DataProblem(code="artifact_missing", message=message, name=spec.name, artifact=name)


def _missing_columns_problem(spec: StatisticSpec, file: OpenedFile, own_columns: Sequence[str]) -> DataProblem:
    """Return the problem of columns that the file lacks; it lists the columns of an agent's file alone."""
    gone = quote_names_for_message(_missing_names(spec, file, own_columns))
    there = f"; there are {quote_names_for_message(file.columns)}" if not file.is_secret else ""
    return build_data_problem(DataError("column_missing", f"no column {gone}{there}"), file, spec.name)


def _missing_names(spec: StatisticSpec, file: OpenedFile, own_columns: Sequence[str]) -> list[str]:
    """Return the columns to add to the file, or without any the statistic's own that it lacks."""
    gone = [name for name in own_columns if name not in file.columns]
    return gone or [name for name in spec.needed_columns if name not in file.columns]


def _split_columns_problem(spec: StatisticSpec, own: Sequence[OpenedFile], own_columns: Sequence[str]) -> DataProblem:
    """Return the platform's problem that no single consumer's file has all columns of the statistic."""
    best = min(own, key=lambda each: len(_missing_names(spec, each, own_columns)))
    gone = quote_names_for_message(_missing_names(spec, best, own_columns))
    message = f"of the columns that it needs, no file of the work's own data has all: no column {gone}"
    return build_data_problem(DataError("column_missing", message), best, spec.name)


def _unsent_file_problem(
    spec: StatisticSpec, agent_files: Sequence[OpenedFile], own_columns: Sequence[str]
) -> DataProblem:
    """Return the problem that asks the agent to send a file with the statistic's columns.

    It names the columns of the agent's files, and none of the consumer's.
    """
    if not agent_files:
        message = f"no file came; {_instruction(own_columns)}"
        return DataProblem(code="artifact_missing", message=message, name=spec.name)
    best = min(agent_files, key=lambda each: len(_missing_names(spec, each, own_columns)))
    lacking = _missing_columns_problem(spec, best, own_columns)
    return lacking.model_copy(update={"message": f"{lacking.message}; {_instruction(own_columns)}"})


def _instruction(own_columns: Sequence[str]) -> str:
    return f"send a file with the columns {quote_names_for_message(own_columns)}" if own_columns else "send a file"

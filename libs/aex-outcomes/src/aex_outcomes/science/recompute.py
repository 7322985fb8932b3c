"""Recomputation of statistics from files of raw data (spec file 4)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aex_models.domains import Domain
from aex_models.examination import DataOwner, DataProblem, MixedGroups, Recomputed
from aex_models.statistics import Statistic, StatisticSpec
from aex_models.tables import DerivedColumn, Join
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.derived import add_derived_columns
from aex_outcomes.science.file_selection import (
    NoUsableFile,
    build_data_problem,
    prefer_consumer_files,
    select_file_for_statistic,
)
from aex_outcomes.science.joined import prepare_joins
from aex_outcomes.science.mixed_statistics import (
    MixingPolicy,
    build_mixing_problem,
    find_group_claims,
    list_columns_to_check_for_mixing,
    plan_group_statistics,
)
from aex_outcomes.science.reconcile import RoundingScale
from aex_outcomes.science.source_files import SourceFile
from aex_outcomes.science.statistic_specs import derive_default_specs
from aex_outcomes.science.statistics.compute import ComputedStatistic, compute_statistic
from aex_outcomes.science.statistics.conditions import is_numeric_filter
from aex_outcomes.science.tables.database import Deadline
from aex_outcomes.science.tables.file_checks import DataError, out_of_memory_error
from aex_outcomes.science.tables.source_table import OpenedFile, RawFile


@dataclass(frozen=True, slots=True)
class Recomputation:
    """Result of a recomputation: each specified statistic has a value or a problem."""

    values: tuple[Recomputed, ...]
    problems: tuple[DataProblem, ...]
    """Problems of complete files, whose `name` is None, and of statistics."""
    specs: tuple[StatisticSpec, ...]
    """The specifications that were computed: the requested or else the default ones, then those of groups."""
    scales: Mapping[str, RoundingScale] = field(default_factory=dict)
    """Rounding limits for comparing claims with each value, by name of the statistic."""
    mixed_groups: tuple[MixedGroups, ...] = ()


def recompute(
    files: Sequence[SourceFile],
    specs: Sequence[StatisticSpec],
    *,
    domain: Domain | None = None,
    claims: Collection[str] = (),
    derived: Sequence[DerivedColumn] = (),
    joins: Sequence[Join] = (),
    limits: DataLimits | None = None,
) -> Recomputation:
    """Compute statistics from files of raw data.

    Empty `specs` request the default statistics: those of `domain`, means of columns, and statistics of the score
    column that `claims` name. Where these would mix groups of rows, those of each group replace them. `claims` are
    names of claimed values. `specs` may also name columns of `derived`, and `joins`. Reads the files in this process,
    in a locked database, within `limits`. Run untrusted files in a confined worker, by the job
    `aex_outcomes.science.job:examine_candidate`.
    """
    bounds = limits or DataLimits()
    opened = wrap_files_for_reading_on_demand(files, bounds, derived)
    used = tuple(specs) or derive_default_specs(domain, prefer_consumer_files(opened), claims)
    tables = [*prepare_joins(joins, opened, derived, bounds), *opened]
    try:
        return recompute_statistics(tables, used, MixingPolicy(domain, claims, is_default=not specs), derived)
    finally:
        close_files(tables)


def wrap_files_for_reading_on_demand(
    files: Sequence[SourceFile], limits: DataLimits, derived: Sequence[DerivedColumn] = ()
) -> list[OpenedFile]:
    """Wrap the files for reading on demand: first the consumer's, then the agent's. Nothing is read yet.

    A file gets the derived columns that name it or no file, if it has the columns that these read. All files of one
    owner share a limit of processor time, so that the agent's cannot use up the consumer's.
    """
    deadlines = {owner: Deadline(limits.cpu_seconds) for owner in DataOwner}
    by_precedence = sorted(files, key=lambda each: each.owner is not DataOwner.CONSUMER)
    opened = (RawFile(each, limits, deadlines[each.owner]) for each in by_precedence)
    return [add_derived_columns(each, derived) for each in opened]


def close_files(files: Iterable[OpenedFile]) -> None:
    """Release the rows that the files keep in memory."""
    for file in files:
        file.close()


def recompute_statistics(
    files: Sequence[OpenedFile],
    specs: Sequence[StatisticSpec],
    mixing: MixingPolicy,
    derived: Sequence[DerivedColumn] = (),
) -> Recomputation:
    """Compute each statistic from its file (`select_file_for_statistic`); each file is read once.

    The files stay open. A file that cannot be read keeps its error. `mixing` decides on statistics over groups of rows.
    `derived`: columns that the files were prepared with.
    """
    served: dict[int, list[StatisticSpec]] = defaultdict(list)
    problems: list[DataProblem] = []
    for spec in specs:
        try:
            served[files.index(select_file_for_statistic(spec, files, derived))].append(spec)
        except NoUsableFile as unserved:
            problems.append(unserved.problem)
    values: dict[str, Recomputed] = {}
    scales: dict[str, RoundingScale] = {}
    used = {spec.name: spec for spec in specs}
    mixed: list[MixedGroups] = []
    for index, file_specs in sorted(served.items()):
        for spec, found in _compute_from_file(files[index], file_specs, mixing, mixed):
            used.setdefault(spec.name, spec)
            if isinstance(found, DataProblem):
                problems.append(found)
                continue
            scales[spec.name] = found.scale
            values[spec.name] = _to_recomputed(spec, found, files[index])
    ordered = tuple(values[name] for name in used if name in values)
    of_files = [build_data_problem(each.error, each) for each in files if each.error is not None]
    return Recomputation(ordered, (*of_files, *problems), tuple(used.values()), scales, tuple(mixed))


def _to_recomputed(spec: StatisticSpec, found: ComputedStatistic, file: OpenedFile) -> Recomputed:
    owner, artifact = file.file.owner, file.file.name
    return Recomputed(name=spec.name, value=found.value, owner=owner, artifact=artifact, secret=file.is_secret)


def _compute_from_file(
    file: OpenedFile, specs: Sequence[StatisticSpec], mixing: MixingPolicy, mixed: list[MixedGroups]
) -> Iterator[tuple[StatisticSpec, ComputedStatistic | DataProblem]]:
    """Yield the result of each statistic, then of those of single groups; add findings to `mixed`."""
    claims = find_group_claims(mixing, file, specs)
    measured = list_columns_to_check_for_mixing(specs, claims)
    columns = {*measured, *(name for spec in specs for name in spec.needed_columns)}
    texts = {each.column for spec in specs for each in spec.filters if not is_numeric_filter(each)}
    texts |= {spec.column for spec in specs if spec.stat is Statistic.N_UNIQUE and spec.column}
    done = 0
    results: dict[str, ComputedStatistic] = {}
    try:
        with file.load_table(columns, texts, with_groups=bool(measured)) as table:
            plan = plan_group_statistics(table, file, specs, claims, mixing)
            mixed += plan.findings
            for spec in (*specs, *plan.added):
                key = spec.model_dump_json(exclude={"name", "artifact", "tolerance"})
                try:
                    if spec.name in plan.withheld:
                        yield spec, build_mixing_problem(spec, plan.withheld[spec.name])
                        continue
                    results[key] = results.get(key) or compute_statistic(table, spec)  # claims may repeat a statistic
                except DataError as error:
                    yield spec, build_data_problem(error, file, spec.name)
                else:
                    yield spec, results[key]
                finally:
                    done += 1
    except (DataError, MemoryError) as error:
        file.error = error if isinstance(error, DataError) else out_of_memory_error()
        yield from ((spec, build_data_problem(file.error, file, spec.name)) for spec in specs[done:])

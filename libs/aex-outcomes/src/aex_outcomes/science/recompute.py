"""Statistics recomputed from raw data (spec file 4)."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aex_models.domains import Domain
from aex_models.examination import DataOwner, DataProblem, Recomputed
from aex_models.statistics import Statistic, StatisticSpec
from aex_outcomes.science.choosing import Unserved, chosen, in_order, of_one_owner, problem_of
from aex_outcomes.science.default_statistics import default_specs
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.source import SourceFile
from aex_outcomes.science.statistics.compute import Computed, computed
from aex_outcomes.science.statistics.conditions import reads_numbers
from aex_outcomes.science.statistics.scale import Scale
from aex_outcomes.science.tables.database import Deadline
from aex_outcomes.science.tables.errors import DataError, out_of_memory
from aex_outcomes.science.tables.opened import OpenedFile


@dataclass(frozen=True, slots=True)
class Recomputation:
    """What came of it; every statistic is either among the values or named by a problem."""

    values: tuple[Recomputed, ...]
    problems: tuple[DataProblem, ...]
    """Of statistics that were not computed, and of whole files (`name` is None), each once."""
    specs: tuple[StatisticSpec, ...]
    """As used: those that were asked for, else the default ones."""
    scales: Mapping[str, Scale] = field(default_factory=dict)
    """Of each value: up to where it may be claimed to be 0, and what rounding explains."""


def recompute(
    files: Sequence[SourceFile],
    specs: Sequence[StatisticSpec],
    *,
    domain: Domain | None = None,
    claims: Collection[str] = (),
    limits: DataLimits | None = None,
) -> Recomputation:
    """Compute statistics from files of raw data; without `specs` the default ones of the domain and the columns, and
    those of the score column that `claims`, names of claimed values, speak of.

    Reads the files in this very process, in a locked database, within `limits`. Files from strangers belong into a
    confined worker: that is how services run it, by the job `aex_outcomes.science.job:examine_candidate`.
    """
    bounds = limits or DataLimits()
    opened = open_files(files, bounds)
    return recomputed(opened, tuple(specs) or default_specs(domain, of_one_owner(opened), claims))


def open_files(files: Sequence[SourceFile], limits: DataLimits) -> list[OpenedFile]:
    """The files in the order in which they are asked, with an allowance of time for each owner's. Nothing is read yet.

    The agent's files cannot use up what the consumer's need.
    """
    deadlines = {owner: Deadline(limits.cpu_seconds) for owner in DataOwner}
    return in_order([OpenedFile(each, limits, deadlines[each.owner]) for each in files])


def recomputed(files: Sequence[OpenedFile], specs: Sequence[StatisticSpec]) -> Recomputation:
    """Each statistic from the file that serves it; a file is read once, for all of its statistics."""
    served: dict[int, list[StatisticSpec]] = defaultdict(list)
    problems: list[DataProblem] = []
    for spec in specs:
        try:
            served[files.index(chosen(spec, files))].append(spec)
        except Unserved as unserved:
            problems.append(unserved.problem)
    values: dict[str, Recomputed] = {}
    scales: dict[str, Scale] = {}
    for place, wanted in sorted(served.items()):
        file = files[place]
        for spec, result in _of_file(file, wanted):
            if isinstance(result, DataProblem):
                problems.append(result)
                continue
            value, scales[spec.name] = result
            values[spec.name] = Recomputed(name=spec.name, value=value, owner=file.file.owner, artifact=file.file.name)
    ordered = tuple(values[spec.name] for spec in specs if spec.name in values)
    return Recomputation(ordered, (*_of_files(files), *problems), tuple(specs), scales)


def _of_file(
    file: OpenedFile, specs: Sequence[StatisticSpec]
) -> Iterator[tuple[StatisticSpec, tuple[float, Scale] | DataProblem]]:
    """Value and scale of each statistic, or why there is none."""
    wanted = {name for spec in specs for name in spec.needed_columns}
    done = 0
    known: dict[str, Computed] = {}
    try:
        with file.table(wanted, _read_as_text(specs)) as table:
            for spec in specs:
                asked = spec.model_dump_json(exclude={"name", "artifact", "tolerance"})
                try:
                    found = known.get(asked) or computed(table, spec)  # many claims may name the same mean
                    known[asked] = found
                except DataError as error:
                    yield spec, problem_of(error, file, spec.name)
                else:
                    yield spec, (found.value, found.scale)
                done += 1
    except (DataError, MemoryError) as error:
        file.failed = error if isinstance(error, DataError) else out_of_memory()
        yield from ((spec, problem_of(file.failed, file, spec.name)) for spec in specs[done:])


def _read_as_text(specs: Sequence[StatisticSpec]) -> set[str]:
    texts = {each.column for spec in specs for each in spec.where if not reads_numbers(each)}
    return texts | {spec.column for spec in specs if spec.stat is Statistic.N_UNIQUE and spec.column}


def _of_files(files: Sequence[OpenedFile]) -> Iterator[DataProblem]:
    return (problem_of(each.failed, each) for each in files if each.failed is not None)

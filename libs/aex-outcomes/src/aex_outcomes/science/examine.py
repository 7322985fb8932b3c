"""Deterministic examination of claims: ranges, recomputation, comparison, sanity checks (spec file 4)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from aex_models.domains import Domain
from aex_models.examination import (
    INTERNAL_CONSISTENCY,
    MIXED_GROUPS,
    PEER_REVIEW,
    RECOMPUTE_STATISTICS,
    VALUE_RANGES,
    DataOwner,
    DataProblem,
    DomainViolation,
    Examination,
    Fault,
    FileColumns,
    MixedGroups,
    Recomputed,
    Reconciliation,
    ReconciliationStatus,
)
from aex_models.science import Science
from aex_models.statistics import StatisticSpec
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.domains.soundness import SANITY_PREFIX
from aex_outcomes.science.file_selection import prefer_consumer_files
from aex_outcomes.science.internal_consistency import find_inconsistent_claims
from aex_outcomes.science.joined import prepare_joins
from aex_outcomes.science.mixed_statistics import MixingPolicy
from aex_outcomes.science.ranges import RangeCheck, check_claims
from aex_outcomes.science.recompute import (
    Recomputation,
    close_files,
    recompute_statistics,
    wrap_files_for_reading_on_demand,
)
from aex_outcomes.science.reconcile import reconcile
from aex_outcomes.science.sanity import build_sanity_specs, find_failed_sanity_checks
from aex_outcomes.science.source_files import SourceFile
from aex_outcomes.science.statistic_specs import derive_default_specs, find_score_column
from aex_outcomes.science.tables.file_checks import DataError
from aex_outcomes.science.tables.source_table import OpenedFile

_WITHOUT_DATA = frozenset({VALUE_RANGES, PEER_REVIEW, INTERNAL_CONSISTENCY})
"""Checks for which no statistic is recomputed."""
_MAX_COLUMNS, _LONGEST_NAME = 200, 100
"""Columns of a file that a reviewer sees, and characters of each."""
MAX_RECONCILIATIONS = 1_000
"""Maximum of reconciliations in a result; the least important ones are left out."""


def examine(
    science: Science,
    domain: Domain | None,
    claims: Mapping[str, Any],
    files: Sequence[SourceFile],
    limits: DataLimits,
) -> Examination:
    """Run the deterministic checks that `science.checks` names, and report their results, not a verdict.

    `claims`: claimed numbers by name; a `JsonFloat` keeps the decimals that the agent wrote. `files`: raw data of the
    consumer and the agent. They are read in this process; the job `examine_candidate` calls this in a confined one.
    """
    ranges = RangeCheck((), 0, ())
    if VALUE_RANGES in science.checks:
        ranges = check_claims(claims, domain, science.output_constraints)
    contradictions = find_inconsistent_claims(claims) if INTERNAL_CONSISTENCY in science.checks else ()
    data, opened = (
        _DataExamination(science, domain, claims),
        wrap_files_for_reading_on_demand(files, limits, science.derived),
    )
    if any(check not in _WITHOUT_DATA for check in science.checks):
        data.run(opened, limits)
    return Examination(
        domain=domain.name if domain else None,
        checks=science.checks,
        claims=len(claims),
        demanded=tuple(each.name for each in science.statistics),
        recomputed=data.values,
        reconciliation=_select_reconciliations(data.reconciliation, {each.name for each in science.statistics}),
        domain_violations=(*ranges.violations, *contradictions, *data.violations),
        in_range=ranges.in_range,
        unchecked=ranges.unchecked,
        findings=data.findings,
        problems=data.problems,
        mixed_groups=data.mixed_groups,
        files=tuple(_readable_files(opened)) if PEER_REVIEW in science.checks else (),
    )


def _readable_files(files: Sequence[OpenedFile]) -> Iterator[FileColumns]:
    for each in files:
        with suppress(DataError):
            columns = tuple(name[:_LONGEST_NAME] for name in each.columns[:_MAX_COLUMNS])
            yield FileColumns(name=each.file.name, owner=each.file.owner, columns=columns)


class _DataExamination:
    """Checks that need raw data, with their results as attributes. Without files no claim is recomputed."""

    def __init__(self, science: Science, domain: Domain | None, claims: Mapping[str, Any]) -> None:
        self._science, self._domain, self._claims = science, domain, claims
        self.values: tuple[Recomputed, ...] = ()
        self.reconciliation: tuple[Reconciliation, ...] = ()
        self.violations: tuple[DomainViolation, ...] = ()
        self.findings: tuple[DomainViolation, ...] = ()
        self.problems: tuple[DataProblem, ...] = ()
        self.mixed_groups: tuple[MixedGroups, ...] = ()

    def run(self, opened: Sequence[OpenedFile], limits: DataLimits) -> None:
        """Recompute statistics, reconcile claims, apply sanity checks, and set the result attributes."""
        candidates = prefer_consumer_files(opened)
        specs, sanity = self._specs(candidates), self._sanity(candidates)
        joined = prepare_joins(self._science.joins, opened, self._science.derived, limits)
        tables = [*joined, *opened]
        try:
            found = recompute_statistics(tables, [*specs, *sanity], self._mixing, self._science.derived)
        finally:
            close_files(tables)
        self.mixed_groups = found.mixed_groups
        checks = {each.name for each in sanity}
        self.values = tuple(each for each in found.values if each.name not in checks)
        lost = (*found.problems, *self._unserved_problems(candidates, specs, sanity))
        found = replace(found, problems=lost)
        self.problems = tuple(each for each in lost if self._is_relevant(each))
        if RECOMPUTE_STATISTICS in self._science.checks:
            compared = [each for each in found.specs if each.name not in checks]
            self.reconciliation = reconcile(self._claims, self.values, compared, scales=found.scales)
        if self._domain is not None:
            self._check_sanity(self._domain, found, checks)

    @property
    def _mixing(self) -> MixingPolicy:
        is_check = MIXED_GROUPS in self._science.checks
        return MixingPolicy(self._domain, self._claims, is_default=not self._science.statistics, is_check=is_check)

    def _specs(self, files: Sequence[OpenedFile]) -> tuple[StatisticSpec, ...]:
        if RECOMPUTE_STATISTICS not in self._science.checks:
            return ()
        return self._science.statistics or derive_default_specs(self._domain, files, self._claims)

    def _sanity(self, files: Sequence[OpenedFile]) -> tuple[StatisticSpec, ...]:
        if self._domain is None or not self._domain.sanity_checks or not self._domain.common_columns:
            return ()  # before a file is read
        score = find_score_column(self._domain, files)
        if score is None:
            return ()
        taken = {each.name for each in self._science.statistics}
        return tuple(each for each in build_sanity_specs(self._domain, score[1]) if each.name not in taken)

    def _unserved_problems(
        self, files: Sequence[OpenedFile], specs: Sequence[StatisticSpec], sanity: Sequence[StatisticSpec]
    ) -> Iterator[DataProblem]:
        """Yield the platform's problems of demands that the consumer's own data cannot serve.

        No agent can repair them. Yields nothing if the consumer gave no data, or if a file is unreadable.
        """
        if not any(each.file.owner is DataOwner.CONSUMER for each in files) or any(each.error for each in files):
            return
        checks, domain = self._science.checks, self._domain
        if RECOMPUTE_STATISTICS in checks and not specs:
            yield _own_data_problem("nothing_to_recompute", "no file of the work's own data has a column of numbers")
        if domain is not None and domain.common_columns and not sanity:
            message = f"no file of the work's own data has a score column of {domain.name}"
            for check in domain.sanity_checks:
                if check.name in checks:
                    yield _own_data_problem("column_missing", message, SANITY_PREFIX + check.name)

    def _check_sanity(self, domain: Domain, found: Recomputation, checks: set[str]) -> None:
        of_checks = [each for each in found.values if each.name in checks]
        failed = find_failed_sanity_checks(
            domain,
            {each.name: each.value for each in of_checks},
            found.problems,
            demanded=self._science.checks,
            secret=any(each.owner is DataOwner.CONSUMER for each in of_checks),
        )
        self.violations = tuple(each for each in failed if each.name in self._science.checks)
        self.findings = tuple(each for each in failed if each.name not in self._science.checks)

    def _is_relevant(self, problem: DataProblem) -> bool:
        """Return True for a problem of a complete file, or of a demanded or claimed statistic or check."""
        name, demanded = problem.name, {each.name for each in self._science.statistics}
        if name is None or name in self._claims or name in demanded:
            return True
        return name.startswith(SANITY_PREFIX) and name.removeprefix(SANITY_PREFIX) in self._science.checks


def _own_data_problem(code: str, message: str, name: str | None = None) -> DataProblem:
    return DataProblem(code=code, message=message, name=name, fault=Fault.PLATFORM, secret=True)


def _select_reconciliations(found: Sequence[Reconciliation], demanded: set[str]) -> tuple[Reconciliation, ...]:
    if len(found) <= MAX_RECONCILIATIONS:
        return tuple(found)
    weight = {ReconciliationStatus.MISMATCH: 0, ReconciliationStatus.MATCH: 2}
    first = sorted(found, key=lambda each: 1 if each.name in demanded else weight.get(each.status, 3))
    return tuple(first[:MAX_RECONCILIATIONS])

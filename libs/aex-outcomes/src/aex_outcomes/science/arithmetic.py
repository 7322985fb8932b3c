"""Summary of an examination's deterministic checks, limited to those that the work demands."""

from dataclasses import dataclass

from aex_models.examination import (
    INTERNAL_CONSISTENCY,
    MIXED_GROUPS,
    RECOMPUTE_STATISTICS,
    VALUE_RANGES,
    DomainViolation,
    Examination,
    Fault,
    MismatchSeverity,
    Reconciliation,
    ReconciliationStatus,
    ValueMismatch,
)
from aex_models.science import GateReason, Science
from aex_outcomes.science.mixed import hide_group_value

_MATCH, _MISMATCH = ReconciliationStatus.MATCH, ReconciliationStatus.MISMATCH
_RANGE_SOURCES = frozenset({"", "domain", "output_constraints"})
"""Sources of violations of the range check; a sanity check is demanded by its own name."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Results of the deterministic checks that the work demands; a peer review is none of them."""

    mismatches: tuple[ValueMismatch, ...]
    """Mismatches between a claimed and a recomputed number; a claim that is no number appears only in `reasons`."""
    violations: tuple[DomainViolation, ...]
    """Violations of demanded ranges, constraints and sanity checks."""
    plausible: bool | None
    """False if there is a violation; True if values were checked and there is none; None if none were checked."""
    consistent: bool | None
    """True if every demanded statistic is claimed and matches, or without demands every recomputed claim matches.

    False with a mismatch or an unmatched demand; None if nothing could be compared or data were unavailable.
    """
    untenable: bool
    """True with a critical mismatch or a violation: no peer review may accept the candidate."""
    reasons: tuple[GateReason, ...]
    """Reasons why the candidate fails these checks; empty if it passes them."""
    unavailable: tuple[GateReason, ...]
    """Reason why no verdict is possible: data that the platform failed to read. Empty if it read all."""


def assess_arithmetic(science: Science, examination: Examination) -> Arithmetic:
    """Summarise the examination's results for the checks in `science.checks`."""
    recompute, ranges = (check in science.checks for check in (RECOMPUTE_STATISTICS, VALUE_RANGES))
    demanded = tuple(each.name for each in science.statistics)
    reconciled = {each.name: each for each in examination.reconciliation} if recompute else {}
    mismatched = [each for each in reconciled.values() if each.status is _MISMATCH]
    violations = tuple(each for each in examination.domain_violations if ranges or each.source not in _RANGE_SOURCES)
    unavailable = _unavailable(science, examination)
    return Arithmetic(
        mismatches=tuple(found for each in mismatched if (found := _mismatch(each))),
        violations=violations,
        plausible=False if violations else True if ranges and examination.in_range else None,
        consistent=_consistent(demanded, reconciled, complete=not unavailable),
        untenable=bool(violations) or any(_severity(each) is MismatchSeverity.CRITICAL for each in mismatched),
        reasons=(
            *_reason("value_mismatch", "The data do not bear these claims out", [each.name for each in mismatched]),
            *_reason("domain_violation", "These values are ruled out", [each.name for each in violations]),
            *_reason(MIXED_GROUPS, "Each group's own value has to be claimed", _mixed_claims(science, examination)),
            *(_missing_statistics(demanded, reconciled, complete=not unavailable) if recompute else ()),
        ),
        unavailable=unavailable,
    )


def _mixed_claims(science: Science, examination: Examination) -> list[str]:
    """Return the names of the statistics that may not be claimed because they mix groups of rows.

    They are the default statistics that were not computed for this reason. If the work demands the check, they include
    its own statistics that mix groups of an agent's file.
    """
    refused = [each.name for each in examination.problems if each.code == MIXED_GROUPS and each.name]
    if MIXED_GROUPS in science.checks:
        mixtures = [each for each in examination.mixed_groups if not each.secret]
        demanded = {each.name for each in science.statistics}
        refused += [name for each in mixtures for name in each.statistics if name in demanded]
    return refused


def _mismatch(each: Reconciliation) -> ValueMismatch | None:
    if each.claimed is None or each.recomputed is None:
        return None
    return ValueMismatch(
        name=each.name,
        claimed=each.claimed,
        actual=each.recomputed,
        severity=_severity(each),
        relative_error=each.relative_error,
        secret=each.secret,
    )


def _severity(each: Reconciliation) -> MismatchSeverity:
    """Return the severity of a mismatch; one without a severity is critical."""
    return each.severity or MismatchSeverity.CRITICAL


def _consistent(demanded: tuple[str, ...], reconciled: dict[str, Reconciliation], *, complete: bool) -> bool | None:
    compared = [each for each in reconciled.values() if each.status in {_MATCH, _MISMATCH}]
    if any(each.status is _MISMATCH for each in compared):
        return False
    if not complete:
        return None
    if not demanded:
        return True if compared else None
    if all(each.recomputed is None for each in reconciled.values()):
        return None
    return all(name in reconciled and reconciled[name].status is _MATCH for name in demanded)


def _missing_statistics(
    demanded: tuple[str, ...], reconciled: dict[str, Reconciliation], *, complete: bool
) -> tuple[GateReason, ...]:
    """Return reasons for demanded statistics without a claim or without a recomputed value.

    `complete` is false if the platform could not read all data: then a missing value is no reason against the agent.
    A work that demands no statistic needs at least one recomputed claim.
    """
    if not demanded:
        if not complete or any(each.status in {_MATCH, _MISMATCH} for each in reconciled.values()):
            return ()
        # The names of claims that were possible; recomputed values, and groups of the consumer's data, stay secret.
        possible = [each for each in reconciled.values() if each.recomputed is not None]
        names = tuple(dict.fromkeys(hide_group_value(each.name) if each.secret else each.name for each in possible))
        message = "No claim could be recomputed: claim at least one of these"
        if not names:
            message = "No file that could be read has a column of numbers to recompute a claim from"
        return (GateReason(code="nothing_recomputed", names=names, message=message),)
    status = {
        name: reconciled[name].status if name in reconciled else ReconciliationStatus.NOT_CLAIMED for name in demanded
    }
    unclaimed = [name for name, each in status.items() if each is ReconciliationStatus.NOT_CLAIMED]
    lost = [name for name, each in status.items() if each is ReconciliationStatus.NOT_RECOMPUTED and complete]
    return (
        *_reason("statistic_not_claimed", "The work demands these statistics: claim each of them", unclaimed),
        *_reason("statistic_not_recomputed", "These claims could not be recomputed from the data", lost),
    )


def _unavailable(science: Science, examination: Examination) -> tuple[GateReason, ...]:
    # Peer reviews use the data as well.
    reads_data = any(check not in (VALUE_RANGES, INTERNAL_CONSISTENCY) for check in science.checks)
    lost = [each for each in examination.problems if reads_data and each.fault is Fault.PLATFORM]
    names = tuple(sorted({name for each in lost if (name := each.name or each.artifact)}))
    message = "The platform could not read data that it should have recomputed from"
    return (GateReason(code="data_unavailable", names=names, message=message),) if lost else ()


def _reason(code: str, message: str, names: list[str]) -> tuple[GateReason, ...]:
    return (GateReason(code=code, names=tuple(dict.fromkeys(names)), message=message),) if names else ()

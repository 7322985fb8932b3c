"""What the deterministic checks say of a candidate, those left out that the work does not demand."""

from dataclasses import dataclass

from aex_models.examination import (
    DomainViolation,
    Examination,
    MismatchSeverity,
    Reconciliation,
    ReconciliationStatus,
    ValueMismatch,
)
from aex_models.faults import Fault
from aex_models.science import GateReason, Science
from aex_models.science_checks import RECOMPUTE_STATISTICS, VALUE_RANGES

_MATCH, _MISMATCH = ReconciliationStatus.MATCH, ReconciliationStatus.MISMATCH
_FROM_RANGES = frozenset({"", "domain", "output_constraints"})
"""Sources of violations that the check of ranges finds; a sanity check is demanded by its own name."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """What was found, as far as the work demands it."""

    mismatches: tuple[ValueMismatch, ...]
    """Those between two numbers; a claim that is no number is in `reasons` alone."""
    violations: tuple[DomainViolation, ...]
    plausible: bool | None
    """No violation among at least one checked value; None: nothing was checked."""
    consistent: bool | None
    """Every demanded statistic claimed and matching, else every claim that could be recomputed; None: nothing was."""
    untenable: bool
    """Whether no reviewer could find it right: a critical mismatch, or a violation."""
    reasons: tuple[GateReason, ...]
    """Why the arithmetic alone does not pass it. Empty: it does."""
    unavailable: tuple[GateReason, ...]
    """What the platform should have read, and could not: no verdict can rest on what is left."""


def arithmetic_of(science: Science, examination: Examination) -> Arithmetic:
    """Read an examination by the work's `checks`."""
    recompute, ranges = (check in science.checks for check in (RECOMPUTE_STATISTICS, VALUE_RANGES))
    demanded = tuple(each.name for each in science.statistics)
    held = {each.name: each for each in examination.reconciliation} if recompute else {}
    mismatched = [each for each in held.values() if each.status is _MISMATCH]
    violations = tuple(each for each in examination.domain_violations if ranges or each.source not in _FROM_RANGES)
    unavailable = _unavailable(science, examination)
    return Arithmetic(
        mismatches=tuple(found for each in mismatched if (found := _mismatch(each))),
        violations=violations,
        plausible=_plausible(violations, examination.in_range if ranges else 0),
        consistent=_consistent(demanded, held, complete=not unavailable),
        untenable=bool(violations) or any(_severity(each) is MismatchSeverity.CRITICAL for each in mismatched),
        reasons=(
            *_reason("value_mismatch", "The data do not bear these claims out", [each.name for each in mismatched]),
            *_reason("domain_violation", "These values are ruled out", [each.name for each in violations]),
            *(_incomplete(demanded, held, complete=not unavailable) if recompute else ()),
        ),
        unavailable=unavailable,
    )


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
    """Of a mismatch. One that says nothing of how far it goes is taken for the worst."""
    return each.severity or MismatchSeverity.CRITICAL


def _plausible(violations: tuple[DomainViolation, ...], checked: int) -> bool | None:
    if violations:
        return False
    return True if checked else None


def _consistent(demanded: tuple[str, ...], held: dict[str, Reconciliation], *, complete: bool) -> bool | None:
    compared = [each for each in held.values() if each.status in {_MATCH, _MISMATCH}]
    if any(each.status is _MISMATCH for each in compared):
        return False
    if not complete:
        return None
    if not demanded:
        return True if compared else None
    if all(each.recomputed is None for each in held.values()):
        return None
    return all(name in held and held[name].status is _MATCH for name in demanded)


def _incomplete(
    demanded: tuple[str, ...], held: dict[str, Reconciliation], *, complete: bool
) -> tuple[GateReason, ...]:
    """What was not claimed, and what could not be recomputed through nobody's fault but the agent's."""
    if not demanded:
        compared = any(each.status in {_MATCH, _MISMATCH} for each in held.values())
        return () if compared or not complete else (_nothing_recomputed(held),)
    status = {name: held[name].status if name in held else ReconciliationStatus.NOT_CLAIMED for name in demanded}
    unclaimed = [name for name, each in status.items() if each is ReconciliationStatus.NOT_CLAIMED]
    lost = [name for name, each in status.items() if each is ReconciliationStatus.NOT_RECOMPUTED and complete]
    return (
        *_reason("statistic_not_claimed", "The work demands these statistics: claim each of them", unclaimed),
        *_reason("statistic_not_recomputed", "These claims could not be recomputed from the data", lost),
    )


def _nothing_recomputed(held: dict[str, Reconciliation]) -> GateReason:
    """With the names of what could have been claimed. What was computed of it is not told."""
    names = tuple(name for name, each in held.items() if each.recomputed is not None)
    message = "No claim could be recomputed: claim at least one of these"
    if not names:
        message = "No file that could be read has a column of numbers to recompute a claim from"
    return GateReason(code="nothing_recomputed", names=names, message=message)


def _unavailable(science: Science, examination: Examination) -> tuple[GateReason, ...]:
    reads_data = any(check != VALUE_RANGES for check in science.checks)  # a reviewer is told what data say, too
    lost = [each for each in examination.problems if reads_data and each.fault is Fault.PLATFORM]
    names = [name for each in lost if (name := each.name or each.artifact)]
    if not lost:
        return ()
    return (
        GateReason(
            code="data_unavailable",
            names=tuple(sorted(set(names))),
            message="The platform could not read data that it should have recomputed from",
        ),
    )


def _reason(code: str, message: str, names: list[str]) -> tuple[GateReason, ...]:
    return (GateReason(code=code, names=tuple(dict.fromkeys(names)), message=message),) if names else ()

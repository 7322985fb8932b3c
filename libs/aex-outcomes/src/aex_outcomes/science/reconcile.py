"""Claimed values held against recomputed ones, name by name (spec file 4)."""

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal, localcontext
from typing import Any

from aex_models.examination import DataOwner, MismatchSeverity, Recomputed, Reconciliation, ReconciliationStatus
from aex_models.numbers import is_number, text_of
from aex_models.statistics import StatisticSpec
from aex_outcomes.science.statistics.scale import Scale

TOLERANCE = 0.01
"""The relative error up to which a claim matches, where its specification says nothing else."""
_MINOR, _MAJOR = 0.05, 0.5
_EDGE = 1 + 1e-12
"""1.05 for 1 is 5 % off, though the double nearest to it is 5.000000000000004 % off."""
_LOST = Decimal("1e-9")
"""Of half a unit of the last decimal: what computing the claim in doubles may have lost."""


def reconcile(
    claims: Mapping[str, Any],
    recomputed: Iterable[Recomputed] | Mapping[str, float],
    specs: Iterable[StatisticSpec] = (),
    *,
    scales: Mapping[str, Scale] | None = None,
) -> tuple[Reconciliation, ...]:
    """Every name that is a specification's, recomputed or claimed, in this order, each once.

    `claims`: numbers; those that are `JsonFloat`s claim as many decimals as their text has. `scales`: of each
    recomputed value, up to where it may be claimed to be 0 and what rounding explains; without, 0 alone matches 0.
    `recomputed` may be a mapping of plain values.
    A claim that is no finite number mismatches critically.
    """
    known = {each.name: each for each in _told(recomputed)}
    tolerances = {each.name: each.tolerance for each in specs}
    names = dict.fromkeys([*tolerances, *known, *claims])
    return tuple(
        _reconciled(
            name, claims.get(name), name in claims, known.get(name), tolerances.get(name, TOLERANCE),
            (scales or {}).get(name, Scale()),
        )
        for name in names
    )  # fmt: skip


def _told(recomputed: Iterable[Recomputed] | Mapping[str, float]) -> Iterable[Recomputed]:
    if not isinstance(recomputed, Mapping):
        return recomputed
    return (Recomputed(name=n, value=each, owner=DataOwner.AGENT, artifact="") for n, each in recomputed.items())


def _reconciled(
    name: str, claim: Any, is_claimed: bool, found: Recomputed | None, tolerance: float, scale: Scale
) -> Reconciliation:
    claimed = float(claim) if is_number(claim) else None
    actual = found.value if found else None
    secret = found is not None and found.owner is DataOwner.CONSUMER
    told = Reconciliation(
        name=name, status=ReconciliationStatus.NOT_CLAIMED, claimed=claimed, recomputed=actual, secret=secret
    )
    if not is_claimed:
        return told
    if actual is None:
        return told.model_copy(update={"status": ReconciliationStatus.NOT_RECOMPUTED})
    if claimed is not None and _matches(claim, claimed, actual, tolerance, scale):
        status, severity = ReconciliationStatus.MATCH, None
    else:
        status, severity = ReconciliationStatus.MISMATCH, severity_of(claimed, actual)
    error = relative_error(claimed, actual)
    return told.model_copy(update={"status": status, "severity": severity, "relative_error": error})


def relative_error(claimed: float | None, actual: float) -> float | None:
    """|claimed − actual| / |actual|; None where that is no finite number."""
    if claimed is None or actual == 0:
        return 0.0 if claimed == actual else None
    error = abs(claimed / actual - 1) if abs(claimed) > 1e300 else abs(claimed - actual) / abs(actual)
    return error if math.isfinite(error) else None


def severity_of(claimed: float | None, actual: float) -> MismatchSeverity:
    """Of a mismatch: critical also where the sign is another, where either is 0, and for no number at all."""
    error = relative_error(claimed, actual)
    if (
        claimed is None
        or error is None
        or error > _MAJOR * _EDGE
        or math.copysign(1, claimed) != math.copysign(1, actual)
    ):
        return MismatchSeverity.CRITICAL
    return MismatchSeverity.MINOR if error <= _MINOR * _EDGE else MismatchSeverity.MAJOR


def _matches(claim: int | float, claimed: float, actual: float, tolerance: float, scale: Scale) -> bool:
    if claimed == 0:
        return abs(actual) <= scale.zero
    if abs(claimed - actual) <= scale.noise:
        return True  # 5e-17 for the mean of values that cancel out
    error = relative_error(claimed, actual)
    return (error is not None and error <= tolerance * _EDGE) or _rounds_to(claim, actual)


def _rounds_to(claim: int | float, actual: float) -> bool:
    """Whether the value is the claim at the claim's own number of decimals. Needs two significant digits.

    1.2e5 has no decimals, as 120000 has none: an exponent rounds nothing away.
    """
    written = Decimal(text_of(claim))
    _, digits, exponent = written.as_tuple()
    if len(digits) < 2 or not isinstance(exponent, int):
        return False
    decimals = max(0, -exponent)
    with localcontext(prec=1_200):  # exact: a double has at most 767 significant digits
        half = Decimal((0, (5,), -decimals - 1))
        return abs(Decimal(actual) - written) <= half * (1 + _LOST)

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aex_models.examination import DataOwner, Recomputed, Reconciliation
from aex_models.numbers import JsonFloat
from aex_outcomes.science.reconcile import RoundingScale, reconcile
from tests.libs.outcomes.science.raw_data import AGENT, CONSUMER, spec

EDGE = 1 + 1e-12
LITTLE = 0.05 * EDGE
OF_MEAN = RoundingScale(zero=1e-9, noise=1e-13)
"""Scale of a mean of values up to 1."""
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def held(
    claim: Any, actual: float, scale: RoundingScale = OF_MEAN, tolerance: float = 0.01, owner: DataOwner = AGENT
) -> Reconciliation:
    if isinstance(claim, str):
        claim = int(claim) if claim.lstrip("-").isdigit() else JsonFloat(claim)
    value = Recomputed(name="it", value=actual, owner=owner, artifact="a.csv")
    (found,) = reconcile({"it": claim}, [value], [spec(tolerance=tolerance)], scales={"it": scale})
    return found


@pytest.mark.parametrize(
    ("claim", "actual", "status", "severity"),
    [
        ("11.17", -0.39, "mismatch", "critical"),
        ("-0.39", -0.3914, "match", None),
        ("-0.39", -0.3951, "mismatch", "minor"),  # 1.3 % off, and -0.40 to two decimals
        ("1.0", 1.04, "match", None),  # 3.8 % off, but 1.0 at one decimal
        ("1.00", 1.04, "mismatch", "minor"),
        ("1", 1.04, "mismatch", "minor"),  # one significant digit says nothing
        ("0.05", 0.054, "mismatch", "major"),
        ("0.050", 0.0504, "match", None),
        ("10", 10.4, "match", None),
        ("12", 12.5, "match", None),  # a half may be rounded either way
        ("0.15", 0.12500000000000003, "mismatch", "major"),
        ("1.0e3", 1049.0, "mismatch", "minor"),  # an exponent rounds nothing away
        ("1.2e5", 124999.0, "mismatch", "minor"),
        ("1.2e1", 12.4, "match", None),
        ("1.20E-7", 1.2049e-7, "match", None),
        ("127", 126.0, "match", None),  # 0.8 %
        ("1.05", 1.0, "mismatch", "minor"),
        ("1.5", 1.0, "mismatch", "major"),
        ("1.51", 1.0, "mismatch", "critical"),
        ("-0.001", 0.001, "mismatch", "critical"),
        ("0", 0.5, "mismatch", "critical"),
        ("0.00", 0.001, "mismatch", "critical"),  # a claim of 0 is one of 0
        ("0", 0.0, "match", None),
        ("0", 1e-10, "match", None),
        ("0", 1e-8, "mismatch", "critical"),
        ("5.5e-17", 0.0, "match", None),  # what a mean in doubles leaves of nothing
        ("1e-12", 0.0, "mismatch", "critical"),
        ("1e308", -1e308, "mismatch", "critical"),
    ],
)
def test_claims_match_as_the_specification_says(claim: str, actual: float, status: str, severity: str | None) -> None:
    found = held(claim, actual)
    assert (found.status.value, found.severity and found.severity.value) == (status, severity)


def test_scale_determines_zero_and_rounding_noise() -> None:
    assert held("0", 1e-4, scale=RoundingScale(zero=1e-3)).status == "match"
    assert held("0", 1e-4, scale=RoundingScale(zero=1e-5)).status == "mismatch"
    assert held("0", 1e-300, scale=RoundingScale()).status == "mismatch"
    assert held("1.85e-17", 9e-18).status == "match"
    assert held("-1.85e-17", 9e-18).status == "match"
    for claim in ("1.85e-17", "-9e-18", "1e-50", "9e-14"):
        assert held(claim, 9e-18, scale=RoundingScale(zero=1e-9)).severity == "critical"


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_with_a_tolerance_of_zero_a_count_is_exact(claimed: int, actual: int) -> None:
    for claim in (claimed, float(claimed), JsonFloat(f"{claimed:.6e}")):
        matches = held(claim, float(actual), scale=RoundingScale(), tolerance=0).status == "match"
        assert matches == (float(claim) == actual)


def test_tolerance_is_a_share_of_the_recomputed_value() -> None:
    assert held("1.3", 1.0, tolerance=0.31).status == "match"
    assert held("1.001", 1.0, tolerance=0).status == "mismatch"
    assert held("0", 1.0, tolerance=1).status == "mismatch"
    errors = [held(claim, actual).relative_error for claim, actual in (("1.5", 2.0), ("1.5", 0.0), ("0", 0.0))]
    assert errors == [0.25, None, 0]


@pytest.mark.parametrize("claim", [float("nan"), float("inf"), None, True, "text"])
def test_what_is_no_finite_number_mismatches_critically(claim: Any) -> None:
    value = Recomputed(name="it", value=1.0, owner=AGENT, artifact="a")
    (found,) = reconcile({"it": claim}, [value])
    assert (found.status.value, found.claimed, found.severity) == ("mismatch", None, "critical")


def test_every_name_is_reconciled_once_with_owner() -> None:
    values = [Recomputed(name=each, value=1.0, owner=CONSUMER, artifact="a") for each in ("a", "b")]
    found = reconcile(
        {"b": 1, "c": 2, "d": 3}, values, [spec(name="a"), spec(name="b"), spec(name="c"), spec(name="e")]
    )
    assert [(each.name, each.status.value, each.secret) for each in found] == [
        ("a", "not_claimed", True),
        ("b", "match", True),
        ("c", "not_recomputed", False),
        ("e", "not_claimed", False),
        ("d", "not_recomputed", False),
    ]


@given(NUMBERS)
def test_the_value_itself_always_matches(actual: float) -> None:
    assert held(JsonFloat(repr(actual)), actual).status == "match"


@given(NUMBERS, st.integers(0, 30))
def test_the_value_rounded_to_some_decimals_matches_with_two_digits_or_more(actual: float, decimals: int) -> None:
    written = f"{actual:.{decimals}f}"
    assume(len(written.lstrip("-0.").replace(".", "")) >= 2)
    assert held(JsonFloat(written), actual, scale=RoundingScale(), tolerance=0).status == "match"


@given(NUMBERS, NUMBERS)
def test_a_changed_sign_never_matches_and_is_critical(claimed: float, actual: float) -> None:
    assume(claimed * actual < 0 or (claimed < 0 < actual) or (actual < 0 < claimed))
    found = held(JsonFloat(repr(claimed)), actual, scale=RoundingScale())
    assume(abs(claimed - actual) > 1e-300)
    assert (found.status.value, found.severity) == ("mismatch", "critical")


@given(NUMBERS, NUMBERS)
def test_a_match_is_close_and_a_severity_says_how_far(claimed: float, actual: float) -> None:
    found = held(JsonFloat(repr(claimed)), actual, scale=RoundingScale())
    error = found.relative_error
    if found.status == "mismatch" and error is not None and claimed * actual > 0:
        assert found.severity == ("minor" if error <= LITTLE else "major" if error <= 0.5 * EDGE else "critical")
    if found.status == "match" and error is not None:
        assert error <= LITTLE  # what two significant digits allow: half of one in ten


def test_plain_values_are_held_against_claims_as_recomputed_ones_are() -> None:
    [match, mismatch] = reconcile({"mean": -0.4, "n": 130}, {"mean": -0.401, "n": 100.0})
    assert (match.status, mismatch.status, mismatch.severity) == ("match", "mismatch", "major")

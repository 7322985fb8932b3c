"""Leases outlast what they are for."""

from datetime import timedelta

from aex_outcomes.config import READING_DATA
from aex_verification.rules.policy import Policy, verifying_lease


def test_a_verification_is_not_begun_anew_while_its_data_are_read_and_reviewed() -> None:
    reading, reviewing = timedelta(milliseconds=READING_DATA.timeout_ms), timedelta(seconds=180)
    assert verifying_lease(reading, reviewing) > 2 * reading + reviewing
    assert verifying_lease(timedelta(0), timedelta(0)) == Policy().verifying

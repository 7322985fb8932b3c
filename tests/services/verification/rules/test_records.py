from datetime import timedelta

from aex_outcomes.config import DATA_SANDBOX
from aex_verification.rules.records import Policy, verification_lease


def test_lease_outlasts_reading_and_review() -> None:
    reading, reviewing = timedelta(milliseconds=DATA_SANDBOX.timeout_ms), timedelta(seconds=180)
    assert verification_lease(reading, reviewing) > 2 * reading + reviewing
    assert verification_lease(timedelta(0), timedelta(0)) == Policy().verification_lease

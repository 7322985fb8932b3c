"""A candidate does not claim without end."""

import pytest

from aex_runtime.errors import InvalidRequest
from aex_verification.rules.claims import MAX_CLAIMS, refuse_too_many


def test_more_claims_than_anybody_reads_are_refused() -> None:
    refuse_too_many(dict.fromkeys(map(str, range(MAX_CLAIMS)), 1))
    with pytest.raises(InvalidRequest) as refused:
        refuse_too_many(dict.fromkeys(map(str, range(MAX_CLAIMS + 1)), 1))
    assert [each.path for each in refused.value.errors] == ["/claimed_values"]

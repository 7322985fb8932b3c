import pytest

from tests.parts.verification import VerificationBench
from tests.services.verification.flow import opened


@pytest.fixture
async def bench() -> VerificationBench:
    """A bench whose contract has the verifier `summary`."""
    return await opened()

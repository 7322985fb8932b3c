"""A service that is killed between a commit and its publication loses no event, and nothing is done twice."""

from pathlib import Path

import pytest

from tests.e2e.dying import settlement, verification, work_publisher
from tests.e2e.dying.bus import MOMENTS
from tests.e2e.jobs import GOOD, award, deliver, publish, until_settled, until_work
from tests.e2e.live import live_suite
from tests.e2e.parties import parties_of
from tests.e2e.stores import transactions_of

pytestmark = pytest.mark.e2e
VICTIMS = {"work-publisher": work_publisher, "verification": verification, "settlement": settlement}


@pytest.mark.parametrize("moment", MOMENTS)
def test_every_service_killed_at_its_publication_leaves_every_contract_settled_once(
    tmp_path: Path, moment: str
) -> None:
    pass

"""The workers that read raw data: none before there are any to read, and none afterwards."""

import asyncio
from pathlib import Path

import psutil
import pytest

from aex_models.examination import DataOwner
from aex_models.science import Science
from aex_outcomes.config import OutcomeConfig
from aex_outcomes.science.confined import ConfinedExaminer, ExaminationRequest
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.source import SourceFile
from aex_verification.pool_on_demand import PoolOnDemand
from aex_verification.pools import science_pool
from aex_verification.settings import Settings
from tests.services.verification.examined import TABLE, science


@pytest.fixture
def scores(tmp_path: Path) -> str:
    """A file that a worker may read, whoever that is."""
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    place = tmp_path / "scores.csv"
    place.write_text(TABLE)
    return str(place)


async def test_workers_are_started_by_the_first_examination_and_none_is_left(scores: str) -> None:
    before = len(psutil.Process().children())
    async with PoolOnDemand(
        science_pool(Settings(science_workers=1), OutcomeConfig().sections()["statistics"].sandbox)
    ) as pool:
        await asyncio.sleep(0.2)
        assert len(psutil.Process().children()) == before
        file = SourceFile("scores.csv", "text/csv", scores, DataOwner.AGENT)
        asked = ExaminationRequest("acme", Science.model_validate(science()), None, {"mean_fitness": "-0.40"}, (file,))
        found = await ConfinedExaminer(pool, DataLimits()).examine(asked)
        assert [each.value for each in found.recomputed] == [pytest.approx(-0.4)]
        assert len(psutil.Process().children()) == before + 1
    assert len(psutil.Process().children()) == before

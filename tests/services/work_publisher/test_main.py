import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from aex_models.events import ContractCancelled, Event
from aex_runtime.bus.port import Outgoing
from aex_runtime.bus.wire import encode_event
from tests.services.work_publisher.over_http import Api, open_api
from tests.services.work_publisher.samples import ACME, BOT, NOW, submission

HEAVY = {"sklearn", "nltk", "duckdb", "numpy", "scipy", "pandas", "sacrebleu", "rouge_score", "rapidfuzz", "re2"}


@pytest.mark.slow
def test_starting_the_service_loads_no_heavy_library(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from aex_work_publisher.main import create_app
from aex_work_publisher.settings import Settings
create_app(Settings(data_dir=Path({str(tmp_path / "aex")!r})))
print(sorted({HEAVY!r} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


async def test_configured_catalogue_checks_submissions(tmp_path: Path) -> None:
    config = tmp_path / "outcome-verification.yaml"
    config.write_text("extractors:\n  text_quality:\n    enabled: false\n")
    api = open_api(tmp_path / "aex", outcome_config=config)
    answer = await api.client(ACME).post("/v1/work", json=submission())
    assert "Unknown metric: rougeL" in answer.text


async def test_running_service_handles_its_subscriptions(api: Api) -> None:
    work_id = (await api.publish(ACME))["work_id"]
    award = (await api.client(BOT).post(f"/v1/work/{work_id}/claim")).json()
    ended = ContractCancelled(contract_id=award["contract_id"], work_id=work_id)
    names = {"type": "contract.cancelled", "source": "/aex/verification", "subject": award["contract_id"]}
    event = Event.model_validate({**names, "id": "evt_1", "time": NOW, "data": ended.model_dump()})
    async with api.app.router.lifespan_context(api.app):
        await api.backends.bus.publish([Outgoing(event.type, encode_event(event))])
        async with asyncio.timeout(60):
            while (await api.client(ACME).get(f"/v1/work/{work_id}")).json()["status"] != "cancelled":  # noqa: ASYNC110
                await asyncio.sleep(0.01)

import sys
from pathlib import Path
from typing import Any

import pytest

from aex_runtime.settings import BadConfiguration
from tests.services.work_publisher.over_http import Api, open_api
from tests.services.work_publisher.samples import ACME, BOT, submission

CONFIG = """
verifiers:
  house-style: nowhere.installed:verify
  tone: {path: "nowhere.installed:tone", timeout_ms: 100}
  retired: {path: "nowhere.installed:old", enabled: false}
"""


@pytest.fixture
def api(tmp_path: Path) -> Api:
    config = tmp_path / "outcome-verification.yaml"
    config.write_text(CONFIG)
    return open_api(tmp_path / "aex", outcome_config=config)


def naming(verifier: Any, **changes: Any) -> dict[str, Any]:
    return submission(verification={"verifier": verifier}, **changes)


async def test_registered_verifier_is_accepted_and_visible(api: Api) -> None:
    published = await api.publish(ACME, verification={"verifier": "house-style", "max_attempts": 2})
    assert published["verification"]["verifier"] == "house-style"
    visible = (await api.client(BOT).get(f"/v1/work/{published['work_id']}")).json()
    assert visible["verification"]["verifier"] == "house-style"
    assert "nowhere.installed" not in sys.modules


@pytest.mark.parametrize("verifier", ["house_style", "retired", "nowhere.installed:verify"])
async def test_unknown_verifier_is_a_400_that_lists_the_known(api: Api, verifier: str) -> None:
    answer = await api.client(ACME).post("/v1/work", json=naming(verifier))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_work")
    assert answer.json()["errors"] == [
        {
            "path": "/verification/verifier",
            "code": "unknown_verifier",
            "message": "Unknown verifier; registered here: house-style, tone",
        }
    ]


async def test_validation_checks_the_verifier_and_stores_nothing(api: Api) -> None:
    unknown = (await api.client(ACME).post("/v1/work/validate", json=naming("unregistered"))).json()
    assert (unknown["valid"], unknown["problems"][0]["code"]) == (False, "unknown_verifier")
    known = (await api.client(ACME).post("/v1/work/validate", json=naming("tone"))).json()
    assert known["valid"]
    assert (await api.client(ACME).get("/v1/work")).json()["items"] == []


@pytest.mark.parametrize("verifier", ["", "two words", 7, ["tone"]])
async def test_malformed_verifier_name_is_refused(api: Api, verifier: Any) -> None:
    answer = await api.client(ACME).post("/v1/work", json=naming(verifier))
    positions = {each["path"] for each in answer.json()["errors"]}
    assert positions == {"/verification/verifier"}
    assert answer.status_code == (422 if not isinstance(verifier, str) else 400)


async def test_a_work_may_have_a_verifier_and_no_criteria(api: Api) -> None:
    published = await api.publish(ACME, verification={"verifier": "tone"}, success_criteria=None, evaluation=None)
    assert published["quote"]["maximum"]["total"] == "1.00"
    assert published["warnings"] == []


async def test_verifier_removes_the_warning_about_certain_success(api: Api) -> None:
    certain = {"criteria": [{"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3,
                             "required": False, "bonus": "0.10"}]}  # fmt: skip
    alone = await api.publish(ACME, success_criteria=certain, evaluation=None)
    both = await api.publish(ACME, success_criteria=certain, evaluation=None, verification={"verifier": "tone"})
    assert [each["code"] for each in alone["warnings"]] == ["nothing_required"]
    assert both["warnings"] == []
    assert both["quote"] == alone["quote"]


async def test_installed_package_registers_its_verifiers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "tones-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tones\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[aex.verifiers]\nfriendly = nowhere.installed:friendly\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    api = open_api(tmp_path / "aex")
    assert (await api.publish(ACME, verification={"verifier": "friendly"}))["status"] == "open"


def test_invalid_verifier_section_stops_the_service(tmp_path: Path) -> None:
    config = tmp_path / "outcome-verification.yaml"
    config.write_text("verifiers:\n  tone: {path: 'pkg:fn', timeout: 3}\n")
    with pytest.raises(
        BadConfiguration, match=r"AEX_OUTCOME_CONFIG: .*verifiers\.tone\.timeout: There is no such field"
    ):
        open_api(tmp_path / "aex", outcome_config=config)

"""A work's science: open to its agents but for what would give the answer away."""

import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_runtime.settings import BadConfiguration
from tests.services.work_publisher.over_http import Api, open_api
from tests.services.work_publisher.samples import ACME, BOT, SERVICE, submission

SCORES = b"mutation,mut_score\nA1G,-0.39\n"
CONSISTENT = {"metric": "values_consistent", "metric_type": "boolean", "comparison": "eq", "threshold": True,
              "bonus": "1"}  # fmt: skip


async def uploaded(api: Api) -> str:
    answer = await api.client(ACME).put("/v1/artifacts", content=SCORES)
    assert answer.status_code == 201, answer.text
    digest: str = answer.json()["sha256"]
    return digest


def science(digest: str, **changes: Any) -> dict[str, Any]:
    return {
        "question": "What is the mean fitness?",
        "domain": "bioinformatics/DMS",
        "expected_outcome": {"mean": "canarytwelve"},
        "statistics": [{"name": "mean_fitness", "stat": "mean", "column": "mut_score"}],
        "data": [{"name": "scores.csv", "sha256": digest}],
        **changes,
    }


async def test_its_consumer_reads_it_whole_and_its_agents_without_its_secrets(api: Api) -> None:
    digest = await uploaded(api)
    work = await api.publish(ACME, science=science(digest))
    path = f"/v1/work/{work['work_id']}"
    own = (await api.client(ACME).get(path)).json()["science"]
    assert (own["expected_outcome"], own["data"][0]["sha256"]) == ({"mean": "canarytwelve"}, digest)
    assert work["science"] == own
    shown = (await api.client(BOT).get(path)).json()["science"]
    assert (shown["question"], shown["statistics"][0]["name"]) == ("What is the mean fitness?", "mean_fitness")
    assert shown["data"] == [{"name": "scores.csv", "media_type": None}]
    assert "expected_outcome" not in shown


async def test_its_secrets_appear_nowhere_but_before_their_consumer(api: Api) -> None:
    digest = await uploaded(api)
    consumer, agent, service = [api.client(caller) for caller in (ACME, BOT, SERVICE)]
    with capture_logs() as logs:
        work = await api.publish(ACME, science=science(digest), evaluation=None, success_criteria=None)
        path = f"/v1/work/{work['work_id']}"
        seen = [await agent.get("/v1/work"), await agent.get(path), await agent.post(f"{path}/claim")]
        contract_id = seen[-1].json()["contract_id"]
        seen += [await agent.get(path), await consumer.get("/v1/work")]
        seen.append(await service.get(f"/v1/awards/{contract_id}"))
        broken = science(digest, checks=["canarythirteen"], strict="canaryfourteen")
        seen.append(await consumer.post("/v1/work", json=submission(science=broken)))
    assert [answer.status_code for answer in seen] == [200, 200, 201, 200, 200, 200, 400]
    for answer in seen:
        assert "canary" not in answer.text
        assert digest not in answer.text
    assert "mean_fitness" in seen[5].text
    kept = await api.stored(work["work_id"], contract_id)
    assert b"mean_fitness" in kept
    assert b"canary" not in kept
    assert digest.encode() not in kept
    assert "canary" not in json.dumps(logs, default=str)
    assert "canarytwelve" in (await consumer.get(path)).text


async def test_lists_leave_it_out(api: Api) -> None:
    await api.publish(ACME, science=science(await uploaded(api)))
    for caller in (ACME, BOT):
        assert "science" not in (await api.client(caller).get("/v1/work")).json()["items"][0]


async def test_a_repeated_request_answers_with_all_of_it_again(api: Api) -> None:
    body = submission(science=science(await uploaded(api)), success_criteria={"criteria": [CONSISTENT]})
    client = api.client(ACME)
    first, again = [await client.post("/v1/work", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json() == first.json()


async def test_what_is_wrong_with_it_comes_in_one_answer(api: Api) -> None:
    wrong = science("a" * 64, domain="nope", checks=["peer_review", "nope"])
    answer = await api.client(ACME).post("/v1/work", json=submission(science=wrong))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_work")
    places = {each["path"]: each["code"] for each in answer.json()["errors"]}
    assert places["/science/domain"] == "unknown_domain"
    assert places["/science/checks/0"] == "reviewer_unavailable"
    assert places["/science/checks/1"] == "unknown_check"


async def test_wrong_shapes_alone_are_a_422(api: Api) -> None:
    answer = await api.client(ACME).post("/v1/work", json=submission(science={"strict": "yes"}))
    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["errors"]] == ["/science/strict"]


async def test_validation_warns_of_a_success_that_rests_on_the_agents_own_files(api: Api) -> None:
    body = submission(science=science("", data=[]), success_criteria={"criteria": [CONSISTENT]})
    found = (await api.client(ACME).post("/v1/work/validate", json=body)).json()
    assert found["valid"]
    warned = {(each["code"], each["path"]) for each in found["warnings"]}
    assert ("own_data_alone", "/success_criteria/criteria/0") in warned
    assert ("own_data_alone", "/science/data") in warned


@pytest.mark.parametrize(("model", "status"), [("some-model", 201), ("", 400), (None, 400)])
async def test_a_review_can_be_asked_for_where_a_model_is_configured(
    tmp_path: Path, model: str | None, status: int
) -> None:
    api = open_api(tmp_path / "aex", review_model=model)
    body = submission(science={"question": "?", "checks": ["peer_review"]})
    assert (await api.client(ACME).post("/v1/work", json=body)).status_code == status


def test_a_domain_that_cannot_be_used_stops_the_service(tmp_path: Path) -> None:
    (tmp_path / "domains").mkdir()
    (tmp_path / "domains" / "optics.yaml").write_text("name: physics/optics\nranges: {}\n")
    config = tmp_path / "outcome-verification.yaml"
    config.write_text(f"extractors:\n  science:\n    config: {{domains_folder: {tmp_path / 'domains'}}}\n")
    with pytest.raises(BadConfiguration, match=r"AEX_OUTCOME_CONFIG: .*optics\.yaml"):
        open_api(tmp_path / "aex", outcome_config=config)


async def test_a_domain_of_the_configured_folder_is_known(tmp_path: Path) -> None:
    (tmp_path / "domains").mkdir()
    (tmp_path / "domains" / "optics.yaml").write_text("name: physics/optics\ndescription: Light.\n")
    config = tmp_path / "outcome-verification.yaml"
    config.write_text(f"extractors:\n  science:\n    config: {{domains_folder: {tmp_path / 'domains'}}}\n")
    api = open_api(tmp_path / "aex", outcome_config=config)
    await api.publish(ACME, science={"domain": "physics/optics"})

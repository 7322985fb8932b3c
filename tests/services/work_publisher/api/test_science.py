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


async def test_science_is_visible_without_secrets_to_agents(api: Api) -> None:
    digest = await uploaded(api)
    work = await api.publish(ACME, science=science(digest))
    path = f"/v1/work/{work['work_id']}"
    own = (await api.client(ACME).get(path)).json()["science"]
    assert (own["expected_outcome"], own["data"][0]["sha256"]) == ({"mean": "canarytwelve"}, digest)
    assert work["science"] == own
    visible = (await api.client(BOT).get(path)).json()["science"]
    assert (visible["question"], visible["statistics"][0]["name"]) == ("What is the mean fitness?", "mean_fitness")
    assert visible["data"] == [{"name": "scores.csv", "media_type": None}]
    assert "expected_outcome" not in visible


async def test_secrets_are_visible_to_their_consumer_only(api: Api) -> None:
    digest = await uploaded(api)
    consumer, agent, service = [api.client(caller) for caller in (ACME, BOT, SERVICE)]
    with capture_logs() as logs:
        work = await api.publish(ACME, science=science(digest))
        path = f"/v1/work/{work['work_id']}"
        seen = [await agent.get("/v1/work"), await agent.get(path), await agent.post(f"{path}/claim")]
        contract_id = seen[-1].json()["contract_id"]
        seen += [await agent.get("/v1/work"), await agent.get(path), await agent.post(f"{path}/claim")]
        seen += [await consumer.get("/v1/work"), await service.get(f"/v1/awards/{contract_id}")]
        for wrong in (
            {"evaluation": {"pattern": "(canaryeleven"}},
            {"science": science(digest, checks=["canarythirteen"], strict="canaryfourteen")},
        ):
            seen.append(await consumer.post("/v1/work", json=submission(**wrong)))
    assert [answer.status_code for answer in seen] == [200, 200, 201, 200, 200, 409, 200, 200, 400, 400]
    for answer in seen:
        assert "canary" not in answer.text + json.dumps(dict(answer.headers))
        assert digest not in answer.text
    evaluation, own = seen[7].json()["evaluation"]["digest"], (await consumer.get(path)).text
    assert not any(evaluation in text for text in (own, *(answer.text for answer in seen[:7])))
    assert "mean_fitness" in seen[7].text
    kept = await api.stored(work["work_id"], contract_id)
    assert b"mean_fitness" in kept
    assert b"canary" not in kept
    assert digest.encode() not in kept
    assert logs
    assert "canary" not in json.dumps(logs, default=str)
    assert "canaryone" in own
    assert "canarytwelve" in own


async def test_lists_have_no_evaluation_data_and_no_science(api: Api) -> None:
    await api.publish(ACME, science=science(await uploaded(api)))
    for caller in (ACME, BOT):
        assert not {"evaluation", "science"} & set((await api.client(caller).get("/v1/work")).json()["items"][0])


async def test_repeated_request_has_an_equal_response(api: Api) -> None:
    body = submission(science=science(await uploaded(api)), success_criteria={"criteria": [CONSISTENT]})
    client = api.client(ACME)
    first, repeated = [await client.post("/v1/work", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert (first.status_code, repeated.status_code) == (201, 201)
    assert repeated.headers["idempotent-replayed"] == "true"
    assert repeated.json() == first.json()


async def test_problems_of_science_come_in_one_response(api: Api) -> None:
    wrong = science("a" * 64, domain="nope", checks=["peer_review", "nope"])
    answer = await api.client(ACME).post("/v1/work", json=submission(science=wrong))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_work")
    positions = {each["path"]: each["code"] for each in answer.json()["errors"]}
    assert positions["/science/domain"] == "unknown_domain"
    assert positions["/science/checks/0"] == "reviewer_unavailable"
    assert positions["/science/checks/1"] == "unknown_check"
    answer = await api.client(ACME).post("/v1/work", json=submission(science={"strict": "yes"}))
    assert (answer.status_code, [each["path"] for each in answer.json()["errors"]]) == (422, ["/science/strict"])


async def test_validation_warns_about_success_by_own_files(api: Api) -> None:
    body = submission(science=science("", data=[]), success_criteria={"criteria": [CONSISTENT]})
    found = (await api.client(ACME).post("/v1/work/validate", json=body)).json()
    assert found["valid"]
    warned = {(each["code"], each["path"]) for each in found["warnings"]}
    assert ("own_data_alone", "/success_criteria/criteria/0") in warned
    assert ("own_data_alone", "/science/data") in warned


@pytest.mark.parametrize(("model", "status"), [("some-model", 201), ("", 400), (None, 400)])
async def test_peer_review_needs_a_configured_model(tmp_path: Path, model: str | None, status: int) -> None:
    api = open_api(tmp_path / "aex", review_model=model)
    body = submission(science={"question": "?", "checks": ["peer_review"]})
    assert (await api.client(ACME).post("/v1/work", json=body)).status_code == status


async def test_configured_domain_is_known_and_an_unusable_one_stops_the_service(tmp_path: Path) -> None:
    domain, config = tmp_path / "domains" / "optics.yaml", tmp_path / "outcome-verification.yaml"
    domain.parent.mkdir()
    domain.write_text("name: physics/optics\nranges: {}\n")
    config.write_text(f"extractors:\n  science:\n    config: {{domains_folder: {domain.parent}}}\n")
    with pytest.raises(BadConfiguration, match=r"AEX_OUTCOME_CONFIG: .*optics\.yaml"):
        open_api(tmp_path / "aex", outcome_config=config)
    domain.write_text("name: physics/optics\ndescription: Light.\n")
    api = open_api(tmp_path / "aex", outcome_config=config)
    await api.publish(ACME, science={"domain": "physics/optics"})

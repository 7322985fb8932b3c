import json
from typing import Any

import pytest
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from tests.services.work_publisher.over_http import Api
from tests.services.work_publisher.samples import ACME, CANARIES, submission

ROUGE = {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4}


def with_criterion(**changes: Any) -> dict[str, Any]:
    return submission(success_criteria={"criteria": [{**ROUGE, **changes}]})


async def post(api: Api, body: Any, path: str = "/v1/work", **headers: str) -> tuple[int, dict[str, Any]]:
    client = api.client(ACME)
    content = body if isinstance(body, str) else json.dumps(body)
    answer = await client.post(path, content=content, headers={"Content-Type": "application/json", **headers})
    assert answer.headers["content-type"] == ("application/json" if answer.is_success else "application/problem+json")
    return answer.status_code, answer.json()


def positions(answer: dict[str, Any]) -> dict[str, str]:
    return {problem["path"]: problem["code"] for problem in answer["errors"]}


async def test_a_work_is_published_with_warnings_and_a_quote(api: Api) -> None:
    client = api.client(ACME)
    answer = await client.post("/v1/work", json=submission())
    work = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/v1/work/{work['work_id']}"
    assert "idempotent-replayed" not in answer.headers
    assert (work["status"], work["consumer_id"], work["created_at"]) == ("open", "acme", "2026-01-01T12:00:00Z")
    money = {"max_cpc": "1.00", "max_cpa_total": "2.00", "max_penalty_total": None, "currency": "USD"}
    assert work["budget"] == {**money, "base_policy": "on_success"}
    assert {name: value for name, value in work["evaluation"].items() if value} == CANARIES
    assert (work["quote"]["minimum"]["total"], work["quote"]["maximum"]["total"]) == ("0.00", "1.50")
    assert set(work) >= {"title", "description", "domain", "input", "success_criteria", "verification", "warnings"}


async def test_money_written_as_a_number_is_read_digit_by_digit(api: Api) -> None:
    body = json.dumps(submission(budget="BUDGET")).replace(
        '"BUDGET"', '{"max_cpc": 0.10, "max_cpa_total": 12, "base_policy": "on_success"}'
    )
    status, work = await post(api, body)
    assert (status, work["budget"]["max_cpc"], work["budget"]["max_cpa_total"]) == (201, "0.10", "12.00")


async def test_problems_come_in_one_response(api: Api) -> None:
    status, answer = await post(
        api,
        submission(
            title=7,
            evaluation={"required_keywords": []},
            input={"ground_truth": []},
            success_criteria={
                "criteria": [
                    {**ROUGE, "metric": "nonsense"},
                    {**ROUGE, "threshold": 40, "bonus": "-1", "colour": "red"},
                    {**ROUGE, "metric": "accuracy", "metric_type": "accuracy"},
                ],
                "aggregation": "most",
            },
            budget={"max_cpc": "1e3"},
        ),
    )
    assert (status, answer["code"]) == (400, "invalid_work")
    assert positions(answer) == {
        "/title": "string_type",
        "/evaluation/required_keywords": "too_short",
        "/evaluation/reference": "evaluation_missing",
        "/evaluation/ground_truth": "evaluation_missing",
        "/input/ground_truth": "evaluation_in_input",
        "/success_criteria/aggregation": "enum",
        "/success_criteria/criteria/0/metric": "unknown_metric",
        "/success_criteria/criteria/1/threshold": "invalid_threshold",
        "/success_criteria/criteria/1/bonus": "greater_than_equal",
        "/success_criteria/criteria/1/colour": "extra_forbidden",
        "/budget/max_cpc": "invalid_money",
        "/allow_claims": "claims_require_on_success",
    }
    messages = [problem["message"] for problem in answer["errors"]]
    assert "Unknown metric: nonsense" in messages
    assert any(message.startswith("Invalid threshold for metric: rougeL") for message in messages)


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        (with_criterion(metric="nope"), "/success_criteria/criteria/0/metric", "unknown_metric"),
        (with_criterion(threshold=1.5), "/success_criteria/criteria/0/threshold", "invalid_threshold"),
        (with_criterion(metric_type="boolean"), "/success_criteria/criteria/0/metric_type", "invalid_metric_type"),
        (with_criterion(bonus="-0.01"), "/success_criteria/criteria/0/bonus", "greater_than_equal"),
        (with_criterion(unknown=1), "/success_criteria/criteria/0/unknown", "extra_forbidden"),
        (submission(success_criteria={"criteria": []}), "/success_criteria/criteria", "too_short"),
        (submission(success_criteria={"criteria": [ROUGE] * 2}), "/success_criteria/criteria", "duplicate_criterion"),
        (submission(success_criteria={"criteria": [ROUGE], "extra": 1}), "/success_criteria/extra", "extra_forbidden"),
        (submission(budget={"max_cpc": "1"}), "/allow_claims", "claims_require_on_success"),
    ],
)
async def test_invalid_value_is_a_400_with_its_pointer(
    shared_api: Api, body: dict[str, Any], path: str, code: str
) -> None:
    status, answer = await post(shared_api, body)
    assert (status, answer["code"]) == (400, "invalid_work")
    assert positions(answer).get(path) == code
    assert await shared_api.events() == []


@pytest.mark.parametrize(
    ("changes", "path", "code"),
    [
        ({"title": None}, "/title", "string_type"),
        ({"colour": "red"}, "/colour", "extra_forbidden"),
        ({"evaluation": {**CANARIES, "answers": 1}}, "/evaluation/answers", "extra_forbidden"),
        ({"budget": {"max_cpc": "-1", "base_policy": "on_success"}}, "/budget/max_cpc", "greater_than_equal"),
        ({"budget": {"max_cpc": "1e2", "base_policy": "on_success"}}, "/budget/max_cpc", "invalid_money"),
        ({"verification": {"max_attempts": 0}}, "/verification/max_attempts", "greater_than_equal"),
        ({"allow_claims": "yes"}, "/allow_claims", "bool_type"),
    ],
)
async def test_wrong_shape_outside_the_criteria_is_a_422(
    shared_api: Api, changes: dict[str, Any], path: str, code: str
) -> None:
    status, answer = await post(shared_api, submission(**changes))
    assert (status, answer["code"]) == (422, "invalid_work")
    assert positions(answer) == {path: code}
    for invalid in ("[]", "7", '"work"', "{}"):
        assert (await post(shared_api, invalid))[0] == 422


@pytest.mark.parametrize("body", ["{", '{"title": NaN}', '{"title": "a", "title": "b"}'])
@pytest.mark.parametrize("path", ["/v1/work", "/v1/work/validate"])
async def test_body_outside_i_json_is_a_400(shared_api: Api, body: str, path: str) -> None:
    status, _ = await post(shared_api, body, path)
    assert status == 400


@pytest.mark.parametrize("number", ["1e2", "0.1234567", "-0.5"])
async def test_money_as_a_json_number_keeps_its_rules(shared_api: Api, number: str) -> None:
    body = json.dumps(submission(budget={"max_cpc": 12345, "base_policy": "on_success"})).replace("12345", number)
    status, answer = await post(shared_api, body)
    assert (status, set(positions(answer))) == (422, {"/budget/max_cpc"})


async def test_validation_responds_200_with_its_problems(api: Api) -> None:
    status, sound = await post(api, submission(), "/v1/work/validate")
    assert (status, sound["valid"], sound["problems"]) == (200, True, [])
    assert sound["quote"]["maximum"]["total"] == "1.50"
    status, broken = await post(api, with_criterion(metric="nope"), "/v1/work/validate")
    assert (status, broken["valid"], broken["quote"]) == (200, False, None)
    assert [problem["code"] for problem in broken["problems"]] == ["unknown_metric"]
    for warning in ("[]", "7"):
        assert (await post(api, warning, "/v1/work/validate"))[1]["valid"] is False
    assert await api.events() == []


async def test_repeated_request_is_replayed(api: Api) -> None:
    client = api.client(ACME)
    first = await client.post("/v1/work", json=submission(), headers={"Idempotency-Key": "k"})
    repeated = await client.post("/v1/work", json=submission(), headers={"Idempotency-Key": "k"})
    assert (repeated.status_code, repeated.json()) == (201, first.json())
    assert repeated.headers["idempotent-replayed"] == "true"
    assert repeated.headers["location"] == first.headers["location"]
    assert len(await api.events()) == 1


async def test_key_with_another_body_is_a_422(api: Api) -> None:
    assert (await post(api, submission(title=7), **{"Idempotency-Key": "k"}))[0] == 422  # leaves its key free
    assert (await post(api, submission(), **{"Idempotency-Key": "k"}))[0] == 201
    status, answer = await post(api, submission(title="Other"), **{"Idempotency-Key": "k"})
    assert (status, answer["code"]) == (422, "idempotency_key_reused")


async def test_request_is_logged_without_evaluation_data(api: Api) -> None:
    with capture_logs([merge_contextvars]) as lines:
        _, work = await post(api, submission())
        await post(api, submission(title=7))
    printed = [(line["event"], line["status"], line.get("work_id")) for line in lines]
    assert printed == [("request", 201, work["work_id"]), ("request", 422, None)]
    assert "canary" not in json.dumps(lines, default=str)

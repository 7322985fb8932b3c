"""Works at every size limit settle and have complete thresholds everywhere; one byte more is refused."""

from typing import Any

import pytest

from aex_models.canonical import canonical_bytes
from aex_models.criteria import SuccessCriteria
from aex_models.work import WorkSubmission
from aex_outcomes.submission.sizes import MAX_CRITERIA_BYTES, MAX_THRESHOLD_BYTES, MAX_WORK_BYTES
from tests.e2e.conftest import StartSuite
from tests.e2e.jobs import award, deliver, plain_work, until_settled, until_status, until_work
from tests.e2e.parties import Caller, Parties, parties_of

pytestmark = pytest.mark.e2e

SCHEMA: dict[str, Any] = {"metric": "matches_schema", "metric_type": "matches_schema", "comparison": "eq"}
TERMS: dict[str, Any] = {"metric": "contains_keywords", "metric_type": "contains", "comparison": "contains_any"}


def criteria_of(size: int, schema_size: int = MAX_THRESHOLD_BYTES) -> dict[str, Any]:
    """Ten criteria of this many bytes: a schema, eight lists of 200 terms, and a schema that fills up."""

    def made(filling: int) -> dict[str, Any]:
        schemas = [{**SCHEMA, "threshold": _schema(each)} for each in (schema_size, filling)]
        lists = [{**TERMS, "threshold": ["alpha", *_terms(number)], "bonus": "0.01"} for number in range(8)]
        return {"criteria": [schemas[0], *lists, schemas[1]]}

    used = len(canonical_bytes(SuccessCriteria.model_validate(made(100))))
    return made(size - used + 100)


def _schema(size: int) -> dict[str, Any]:
    return {"description": "x" * (size - len(canonical_bytes({"description": ""})))}


def _terms(number: int) -> list[str]:
    return [f"{number}-{term:03}-{'z' * 340}" for term in range(199)]


def work_of(size: int, **changes: Any) -> dict[str, Any]:
    """A work of this many bytes, with evaluation data beside them."""

    def made(filling: int) -> dict[str, Any]:
        return plain_work(input={"text": "x" * filling}, verification={"feedback": "full"}, **changes)

    return made(size - len(canonical_bytes(WorkSubmission.model_validate(made(0))))) | {
        "evaluation": {"reference": "a secret of the consumer " * 1_000}
    }


def test_a_work_at_every_limit_settles(parties: Parties) -> None:
    criteria = criteria_of(MAX_CRITERIA_BYTES)
    answer = parties.consumer.post(
        "work-publisher", "/v1/work", work_of(MAX_WORK_BYTES, success_criteria=criteria), key="k"
    )
    assert answer.status_code == 201, answer.text
    contract_id = award(parties, answer.json()["work_id"])
    thresholds = [each["threshold"] for each in criteria["criteria"]]
    first = deliver(parties, contract_id, "nothing of it")
    assert first["verdict"] == "rejected"
    assert len(first["feedback"]) < 4_096
    assert thresholds_of(first["result"]["criterion_results"]) == thresholds
    deliver(parties, contract_id, "alpha and more")
    until_status(parties.agent, contract_id, "passed")
    until_settled(parties.finance, contract_id)
    for party in (parties.consumer, parties.agent, parties.finance):
        settlement = party.read("settlement", f"/v1/settlements/{contract_id}")
        assert settlement["cost"]["total"] == "0.48"
        assert thresholds_of(settlement["cost"]["lines"]) == thresholds
        outcome = party.read("verification", f"/v1/outcomes/{contract_id}")
        assert thresholds_of(outcome["verification_result"]["criterion_results"]) == thresholds
    for party in (parties.consumer, parties.agent):
        [_, second] = read_all(party, f"/v1/contracts/{contract_id}/attempts")
        assert thresholds_of(second["result"]["criterion_results"]) == thresholds
        [listed] = party.read("settlement", "/v1/settlements")["items"]
        assert thresholds_of(listed["cost"]["lines"]) == thresholds
        [exported] = party.get("verification", "/v1/outcomes/export").text.splitlines()
        assert exported.count(thresholds[3][1]) == 2
        page = party.get("settlement", f"/dashboard/settlements/{contract_id}")
        assert thresholds[3][1] in page.text
    until_work(parties.consumer, answer.json()["work_id"], "completed")


def test_services_with_own_blob_stores_read_large_events(start_suite: StartSuite) -> None:
    live = start_suite(alter="tests.e2e.own_blob_stores:open_with_own_blobs")
    parties = parties_of(live)
    criteria = criteria_of(MAX_CRITERIA_BYTES)
    work = parties.consumer.post("work-publisher", "/v1/work", work_of(MAX_WORK_BYTES, success_criteria=criteria))
    contract_id = award(parties, work.json()["work_id"])
    assert deliver(parties, contract_id, "nothing of it")["verdict"] == "rejected"
    deliver(parties, contract_id, "alpha and more")
    assert until_settled(parties.finance, contract_id)["cost"]["total"] == "0.48"
    stores = {path.name for path in live.data_dir.glob("blobs*")}
    assert stores == {"blobs-content", "blobs-events", "blobs-governance", "blobs-settlement"}


def test_one_byte_more_is_refused_and_nothing_is_stored(parties: Parties) -> None:
    over = {
        "threshold_too_large": work_of(
            MAX_WORK_BYTES, success_criteria=criteria_of(MAX_CRITERIA_BYTES, MAX_THRESHOLD_BYTES + 1)
        ),
        "criteria_too_large": work_of(MAX_WORK_BYTES, success_criteria=criteria_of(MAX_CRITERIA_BYTES + 1)),
        "work_too_large": work_of(MAX_WORK_BYTES + 1, success_criteria=criteria_of(MAX_CRITERIA_BYTES)),
    }
    pointers = ["/success_criteria/criteria/0/threshold", "/success_criteria", ""]
    for (code, body), pointer in zip(over.items(), pointers, strict=True):
        answer = parties.consumer.post("work-publisher", "/v1/work", body)
        validated = parties.consumer.post("work-publisher", "/v1/work/validate", body).json()
        assert (answer.status_code, answer.json()["errors"]) == (400, validated["problems"])
        assert [(each["path"], each["code"]) for each in validated["problems"]] == [(pointer, code)]
    assert parties.consumer.read("work-publisher", "/v1/work")["items"] == []


def read_all(party: Caller, path: str) -> list[Any]:
    """Return the items of all pages of a list of verification: pages also end by bytes."""
    page = party.read("verification", path)
    items = page["items"]
    while page["next_cursor"] is not None:
        page = party.read("verification", path, cursor=page["next_cursor"])
        items += page["items"]
    return list(items)


def thresholds_of(lines: list[dict[str, Any]]) -> list[Any]:
    assert [each["criterion"] for each in lines] == list(range(len(lines)))
    return [each["threshold"] for each in lines]

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_client import Endpoints, Service, calls
from aex_client.call import Call, encode_json_body
from aex_models.contract import Artifact
from aex_models.corrections import Replacement
from aex_models.criteria import SuccessCriteria
from aex_models.numbers import JsonFloat
from aex_models.settlement import Posting
from aex_models.work import Budget, WorkSubmission
from aex_outcomes.submission.verify_request import VerifyRequest

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
POSTING = Posting(account="platform:cash", amount=1, currency="USD")

PATHS: list[tuple[Call[Any], str, str, str]] = [
    (calls.publish_work({}), "work-publisher", "POST", "/v1/work"),
    (calls.validate_work({}), "work-publisher", "POST", "/v1/work/validate"),
    (calls.list_work(), "work-publisher", "GET", "/v1/work"),
    (calls.get_work("w"), "work-publisher", "GET", "/v1/work/w"),
    (calls.award("w", "bot", "1"), "work-publisher", "POST", "/v1/work/w/award"),
    (calls.claim("w"), "work-publisher", "POST", "/v1/work/w/claim"),
    (calls.cancel_work("w"), "work-publisher", "POST", "/v1/work/w/cancel"),
    (calls.list_contracts(), "verification", "GET", "/v1/contracts"),
    (calls.get_contract("c"), "verification", "GET", "/v1/contracts/c"),
    (calls.submit_output("c", 1), "verification", "POST", "/v1/contracts/c/outputs"),
    (calls.verify({}, 1), "verification", "POST", "/v1/verify"),
    (calls.verify_batch({}, []), "verification", "POST", "/v1/verify/batch"),
    (calls.list_attempts("c"), "verification", "GET", "/v1/contracts/c/attempts"),
    (calls.get_attempt("c", "a"), "verification", "GET", "/v1/contracts/c/attempts/a"),
    (calls.finalize("c"), "verification", "POST", "/v1/contracts/c/finalize"),
    (calls.cancel_contract("c"), "verification", "POST", "/v1/contracts/c/cancel"),
    (calls.decline_contract("c"), "verification", "POST", "/v1/contracts/c/decline"),
    (calls.list_outcomes(), "verification", "GET", "/v1/outcomes"),
    (calls.get_outcome("c"), "verification", "GET", "/v1/outcomes/c"),
    (calls.export_outcomes(), "verification", "GET", "/v1/outcomes/export"),
    (calls.export_rollouts(), "verification", "GET", "/v1/outcomes/export"),
    (calls.metrics_catalog(), "verification", "GET", "/v1/metrics/catalog"),
    (calls.domains(), "verification", "GET", "/v1/domains"),
    (calls.domain("bioinformatics/DMS"), "verification", "GET", "/v1/domains/bioinformatics%2FDMS"),
    (calls.infer_domain("rmsd"), "verification", "POST", "/v1/domains/infer"),
    (calls.list_holds(), "governance", "GET", "/v1/holds"),
    (calls.get_hold("h"), "governance", "GET", "/v1/holds/h"),
    (calls.decide_hold("h", "release", "fine"), "governance", "POST", "/v1/holds/h/decision"),
    (calls.list_rules(), "governance", "GET", "/v1/rules"),
    (calls.get_profile("a/b"), "governance", "GET", "/v1/agents/a%2Fb/profile"),
    (calls.list_settlements(), "settlement", "GET", "/v1/settlements"),
    (calls.get_settlement("c"), "settlement", "GET", "/v1/settlements/c"),
    (calls.reverse_settlement("c", "twice"), "settlement", "POST", "/v1/settlements/c/reversals"),
    (calls.export_settlements(), "settlement", "GET", "/v1/settlements/export"),
    (calls.breakdown("day"), "settlement", "GET", "/v1/settlements/breakdown"),
    (calls.trial_balance(), "settlement", "GET", "/v1/trial-balance"),
    (calls.get_account("platform:fees"), "settlement", "GET", "/v1/accounts/platform%3Afees"),
    (calls.list_account_entries("agent:a/b"), "settlement", "GET", "/v1/accounts/agent%3Aa%2Fb/entries"),
    (calls.post_transaction("deposit", [POSTING], "paid in"), "settlement", "POST", "/v1/ledger/transactions"),
]


def test_call_has_its_path_and_a_write_its_key() -> None:
    for call, service, method, path in PATHS:
        assert (call.service, call.method, call.path) == (service, method, path)
        changes_nothing = path.endswith(("/validate", "/infer", "/verify", "/batch"))
        assert call.uses_idempotency_key == (method == "POST" and not changes_nothing)


def test_id_is_escaped_in_the_path() -> None:
    for name in ("../../etc", "a/b", "a?b#c", "ü €", "%2e%2e"):
        path = calls.get_work(name).path
        assert path.count("/") == 3
        assert not set(path) & set("?# ")


def test_submission_may_be_a_model_or_a_mapping() -> None:
    model = WorkSubmission(title="T", budget=Budget(max_cpc=Decimal("0.10")))
    for given_ in (
        model,
        {"title": "T", "budget": model.budget},
        {"title": "T", "budget": {"max_cpc": Decimal("0.1")}},
    ):
        sent = json.loads(calls.publish_work(given_).body or b"")
        assert Decimal(sent["budget"].pop("max_cpc")) == Decimal("0.1")
        assert sent == {"title": "T", "budget": {}}


@given(st.decimals(0, 10**9, places=6))
def test_money_is_sent_as_plain_digits(amount: Decimal) -> None:
    body = calls.award("w", "bot", amount).body
    assert body is not None
    text = json.loads(body)["cpc_rate"]
    assert set(text) <= set("0123456789.")
    assert Decimal(text) == amount


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), Decimal("NaN"), {1, 2}, object()])
def test_body_outside_json_is_refused(bad: object) -> None:
    for make in (lambda: encode_json_body({"a": bad}), lambda: calls.submit_output("c", {}, claimed_values={"a": bad})):
        with pytest.raises((ValueError, TypeError)):
            make()


def test_times_and_mappings_are_sent_as_json() -> None:
    body = encode_json_body({"at": NOON, "terms": MappingProxyType({"rate": Decimal("0.10")})})
    assert json.loads(body) == {"at": "2025-03-01T12:00:00+00:00", "terms": {"rate": "0.10"}}


def test_verification_request_has_the_given_parts_alone() -> None:
    criteria = SuccessCriteria.model_validate(
        {"criteria": [{"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.6}]}
    )
    call = calls.verify(
        criteria,
        {"text": "The cat."},
        evaluation={"reference": "The cat sat."},
        claimed_values={"mean": Decimal("11.170")},
    )
    assert call.body is not None
    assert b'"claimed_values":{"mean":11.170}' in call.body
    assert VerifyRequest.model_validate_json(call.body).success_criteria == criteria
    assert set(json.loads(call.body)) == {"success_criteria", "evaluation", "output", "claimed_values"}
    assert json.loads(calls.verify(None, 1, science={"question": "?"}, data=[{"name": "a.csv"}]).body or b"") == {
        "science": {"question": "?"},
        "data": [{"name": "a.csv"}],
        "output": 1,
    }


def test_candidate_is_sent_with_the_digits_of_its_claims() -> None:
    call = calls.submit_output(
        "c",
        {"text": "naïve", "n": 1},
        execution_metadata={"duration_ms": 12.5},
        claimed_metrics={"accuracy": 0.5, "done": True},
        claimed_values={"mean": Decimal("11.170"), "sd": JsonFloat("2.50"), "n": 3},
        reasoning="because",
        artifacts=[Artifact(name="a.txt", media_type="text/plain", content="x")],
        wait_s=2.5,
    )
    assert call.body is not None
    assert b'"claimed_values":{"mean":11.170,"sd":2.50,"n":3}' in call.body
    assert json.loads(call.body) == {
        "output": {"text": "naïve", "n": 1},
        "execution_metadata": {"duration_ms": 12.5},
        "claimed_metrics": {"accuracy": 0.5, "done": True},
        "claimed_values": {"mean": 11.17, "sd": 2.5, "n": 3},
        "reasoning": "because",
        "artifacts": [{"name": "a.txt", "media_type": "text/plain", "content": "x"}],
    }
    assert (call.query, call.wait_s) == ((("wait_s", "2.5"),), 2.5)
    bare = calls.submit_output("c", None)
    assert (bare.body, bare.query) == (b'{"output":null}', ())


def test_query_has_only_the_given_parameters() -> None:
    call = calls.list_settlements(agent_id="bot", first_day=date(2025, 3, 1), last_day="2025-03-02", limit=5)
    assert dict(call.query) == {"agent_id": "bot", "from": "2025-03-01", "to": "2025-03-02", "limit": "5"}
    export = calls.export_settlements(status="reversed", currency="EUR", last_day=date(2025, 3, 1))
    assert dict(export.query) == {"format": "jsonl", "status": "reversed", "currency": "EUR", "to": "2025-03-01"}
    outcomes = calls.list_outcomes(agent_id="bot", domain="news")
    assert dict(outcomes.query) == {"agent_id": "bot", "domain": "news"}
    assert dict(calls.list_contracts(work_id="w", status="failed").query) == {"work_id": "w", "status": "failed"}
    holds = calls.list_holds(consumer_id="acme", cause="fraud_suspected")
    assert dict(holds.query) == {"consumer_id": "acme", "cause": "fraud_suspected"}
    assert calls.breakdown(["agent", "day"]).query == (("group_by", "agent"), ("group_by", "day"))
    assert calls.breakdown("month", currency="EUR").query == (("group_by", "month"), ("currency", "EUR"))
    assert calls.trial_balance(as_of=NOON).query == (("as_of", "2025-03-01T12:00:00+00:00"),)


@pytest.mark.parametrize(
    "replacement",
    [
        {"base": "0.80", "bonus": Decimal(0), "penalty": Decimal("0.30")},
        Replacement(base=Decimal("0.80"), bonus=Decimal(0), penalty=Decimal("0.30")),
    ],
)
def test_correction_has_only_the_given_fields(replacement: Any) -> None:
    body = calls.reverse_settlement("c", "wrong rate", replacement=replacement, revision=2).body
    assert body is not None
    sent = json.loads(body)
    amounts = {name: Decimal(text) for name, text in sent.pop("replacement").items()}
    assert amounts == {"base": Decimal("0.8"), "bonus": 0, "penalty": Decimal("0.3")}
    assert sent == {"reason": "wrong rate", "revision": 2}
    assert calls.reverse_settlement("c", "twice").body == b'{"reason": "twice"}'


def test_next_page_has_the_same_query_and_another_cursor() -> None:
    call = calls.list_work(status="open", limit=3).with_cursor("one").with_cursor("two")
    assert call.query == (("status", "open"), ("limit", "3"), ("cursor", "two"))


def test_local_suite_has_four_consecutive_ports() -> None:
    suite = Endpoints.local(9000)
    urls = [suite.url(service, "/v1/work") for service in Service]
    assert urls == [f"http://127.0.0.1:{9000 + place}/v1/work" for place in range(4)]
    assert Endpoints(*["https://aex.example/"] * 4).url(Service.SETTLEMENT, "/x") == "https://aex.example/x"

"""What is sent: paths, queries and bodies, one call at a time."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_client import Endpoints, Service, calls
from aex_client.call import Call, json_body
from aex_models.contract import Artifact
from aex_models.corrections import Replacement
from aex_models.numbers import JsonFloat
from aex_models.settlement import Posting
from aex_models.work import Budget, WorkSubmission

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
POSTING = Posting(account="platform:cash", amount=1, currency="USD")

PLACES: list[tuple[Call[Any], str, str, str]] = [
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
    (calls.list_attempts("c"), "verification", "GET", "/v1/contracts/c/attempts"),
    (calls.get_attempt("c", "a"), "verification", "GET", "/v1/contracts/c/attempts/a"),
    (calls.finalize("c"), "verification", "POST", "/v1/contracts/c/finalize"),
    (calls.cancel_contract("c"), "verification", "POST", "/v1/contracts/c/cancel"),
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


@pytest.mark.parametrize(("call", "service", "method", "path"), PLACES, ids=lambda value: str(value)[:40])
def test_each_call_goes_to_its_place_and_each_write_once(call: Call[Any], service: str, method: str, path: str) -> None:
    assert (call.service, call.method, call.path) == (service, method, path)
    assert call.once == (method == "POST" and not path.endswith(("/validate", "/infer")))


@pytest.mark.parametrize("name", ["../../etc", "a/b", "a?b#c", "ü €", "%2e%2e"])
def test_an_id_from_elsewhere_cannot_lead_to_another_path(name: str) -> None:
    path = calls.get_work(name).path
    assert path.count("/") == 3
    assert not set(path) & set("?# ")


def test_a_submission_may_be_a_model_or_a_mapping_with_either_inside() -> None:
    model = WorkSubmission(title="T", budget=Budget(max_cpc=Decimal("0.10")))
    for given_ in (
        model,
        {"title": "T", "budget": model.budget},
        {"title": "T", "budget": {"max_cpc": Decimal("0.1")}},
    ):
        body = calls.publish_work(given_).body
        assert body is not None
        assert json.loads(body) == {"title": "T", "budget": {"max_cpc": json.loads(body)["budget"]["max_cpc"]}}
        assert Decimal(json.loads(body)["budget"]["max_cpc"]) == Decimal("0.1")


@given(st.decimals(0, 10**9, places=6))
def test_money_is_sent_as_plain_digits(amount: Decimal) -> None:
    body = calls.award("w", "bot", amount).body
    assert body is not None
    text = json.loads(body)["cpc_rate"]
    assert set(text) <= set("0123456789.")
    assert Decimal(text) == amount


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), Decimal("NaN"), {1, 2}, object()])
def test_what_is_not_json_is_refused_before_it_is_sent(bad: object) -> None:
    for make in (lambda: json_body({"a": bad}), lambda: calls.submit_output("c", {}, claimed_values={"a": bad})):
        with pytest.raises((ValueError, TypeError)):
            make()


def test_times_and_mappings_of_any_kind_are_sent_as_json() -> None:
    body = json_body({"at": NOON, "terms": MappingProxyType({"rate": Decimal("0.10")})})
    assert json.loads(body) == {"at": "2025-03-01T12:00:00+00:00", "terms": {"rate": "0.10"}}


def test_a_candidate_is_sent_whole_and_its_claims_keep_their_digits() -> None:
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


def test_what_was_not_said_of_a_candidate_is_not_sent() -> None:
    assert calls.submit_output("c", None).body == b'{"output":null}'
    assert calls.submit_output("c", None).query == ()


def test_queries_name_what_was_asked_and_leave_out_the_rest() -> None:
    call = calls.list_settlements(agent_id="bot", first_day=date(2025, 3, 1), last_day="2025-03-02", limit=5)
    assert dict(call.query) == {"agent_id": "bot", "from": "2025-03-01", "to": "2025-03-02", "limit": "5"}
    export = calls.export_settlements(status="reversed", currency="EUR", last_day=date(2025, 3, 1))
    assert dict(export.query) == {"format": "jsonl", "status": "reversed", "currency": "EUR", "to": "2025-03-01"}
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
def test_a_correction_says_what_it_means_and_no_more(replacement: Any) -> None:
    body = calls.reverse_settlement("c", "wrong rate", replacement=replacement, revision=2).body
    assert body is not None
    sent = json.loads(body)
    amounts = {name: Decimal(text) for name, text in sent.pop("replacement").items()}
    assert amounts == {"base": Decimal("0.8"), "bonus": 0, "penalty": Decimal("0.3")}
    assert sent == {"reason": "wrong rate", "revision": 2}
    assert calls.reverse_settlement("c", "twice").body == b'{"reason": "twice"}'


def test_the_next_page_is_the_same_query_with_another_cursor() -> None:
    call = calls.list_work(status="open", limit=3).after("one").after("two")
    assert call.query == (("status", "open"), ("limit", "3"), ("cursor", "two"))


def test_the_local_suite_is_four_ports_in_a_row() -> None:
    suite = Endpoints.local(9000)
    urls = [suite.url(service, "/v1/work") for service in Service]
    assert urls == [f"http://127.0.0.1:{9000 + place}/v1/work" for place in range(4)]
    assert Endpoints(*["https://aex.example/"] * 4).url(Service.SETTLEMENT, "/x") == "https://aex.example/x"

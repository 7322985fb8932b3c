"""Metrics and logs of a running suite: matching figures, and lines that name the contract."""

from functools import partial
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from aex_cli.suite.service_spec import MODULES
from tests.deploy.test_dashboards import QUERIES
from tests.e2e.conftest import StartSuite
from tests.e2e.holds import decided, waiting_hold
from tests.e2e.jobs import GOOD, POOR, contract, deliver, eventually, until_settled, until_status
from tests.e2e.live import Live
from tests.e2e.parties import parties_of
from tests.parts.promql import find_problems, parse_metrics

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PROJECT = "acme-prod-1"
LABELS = "logging.googleapis.com/labels"
TRACE = "logging.googleapis.com/trace"
COUNTED = {
    "work-publisher": {"aex_works_submitted_total": 3, "aex_contracts_awarded_total": 3},
    "verification": {
        "aex_attempts_total{queued}": 3,
        "aex_attempts_total{judged}": 3,
        "aex_attempts_total{held}": 1,
        "aex_attempts_total{invalid}": 0,
        "aex_attempts_total{waiting}": 0,
        "aex_verdicts_total{passed}": 2,
        "aex_verdicts_total{rejected}": 1,
        "aex_verdicts_total{indeterminate}": 0,
        "aex_contracts_ended_total{passed}": 2,
        "aex_contracts_ended_total{cancelled}": 1,
        "aex_verdict_lag_seconds_count": 3,
        "aex_verification_seconds_count": 3,
        "aex_extraction_seconds_count{text_quality}": 3,
        "aex_governance_seconds_count{allow}": 1,
        "aex_governance_seconds_count{hold}": 1,
    },
    "governance": {
        "aex_validations_total{allow}": 1,
        "aex_validations_total{hold}": 1,
        "aex_flags_total{self_dealing}": 1,
        "aex_holds_opened_total{fraud_suspected}": 1,
        "aex_holds_decided_total{release}": 1,
        "aex_holds_waiting": 0,
    },
    "settlement": {
        "aex_ledger_transactions_total{settlement}": 2,
        "aex_ledger_transactions_total{reversal}": 0,
        "aex_settlement_lag_seconds_count": 2,
        "aex_settlements_refused_total": 0,
        "aex_dead_letters": 0,
    },
}
"""Counters after three contracts: revised and passed, held and released, cancelled."""


def test_metrics_match_the_events_and_log_lines_name_their_contract(start_suite: StartSuite) -> None:
    environment = {"AEX_LOG_LEVEL": "debug", "AEX_LOG_FORMAT": "google", "AEX_GOOGLE_PROJECT": PROJECT}
    live = start_suite(checked=False, environment=environment)  # Google's lines have other keys
    contracts = happened(live)
    for service, expected in COUNTED.items():
        eventually(partial(_is_reported, live, service, expected), what=f"{service}: {expected}")
    _events_add_up(live)
    _the_dashboard_can_be_drawn(live)
    for contract_id in contracts:
        _is_followed_through_the_logs(live, contract_id)
    _lines_name_their_contract(live)


def happened(live: Live) -> list[str]:
    """The three contracts."""
    parties, relatives = parties_of(live), parties_of(live, "one-house", "one-house")
    revised = contract(parties)
    assert deliver(parties, revised, POOR)["verdict"] == "rejected"
    assert deliver(parties, revised, GOOD)["verdict"] == "passed"
    until_settled(parties.finance, revised)
    held = contract(relatives)
    deliver(relatives, held, GOOD)
    until_status(relatives.agent, held, "held")
    decided(relatives.operator, waiting_hold(relatives.operator, held), "release")
    until_settled(relatives.finance, held)
    cancelled = contract(parties)
    until_status(parties.consumer, cancelled, "awarded")
    assert parties.consumer.post("verification", f"/v1/contracts/{cancelled}/cancel").is_success
    return [revised, held, cancelled]


def samples(live: Live, service: str) -> dict[str, float]:
    """Every sample by its name and the values of its labels but `service`: `aex_verdicts_total{passed}`."""
    found = {}
    for family in text_string_to_metric_families(live.http.get(live.url(service, "/metrics")).text):
        for each in family.samples:
            values = [value for label, value in sorted(each.labels.items()) if label != "service"]
            found[each.name + (f"{{{','.join(values)}}}" if values else "")] = each.value
    return found


def _is_reported(live: Live, service: str, expected: dict[str, int]) -> bool | None:
    found = samples(live, service)
    return True if {name: found.get(name) for name in expected} == expected else None


def _events_add_up(live: Live) -> None:
    """Each outcome is handled by its three subscribers, within seconds; a redelivery is handled once more."""
    for service in ("work-publisher", "governance", "settlement"):
        found = samples(live, service)
        handled = found["aex_event_deliveries_total{handled,outcome.verified}"]
        assert handled >= 2
        for histogram in ("aex_event_age_seconds", "aex_event_handling_seconds"):
            assert found[f"{histogram}_count{{outcome.verified}}"] == handled
        assert 0 < found["aex_event_age_seconds_sum{outcome.verified}"] < 60 * handled
        assert found["aex_event_handling_seconds_sum{outcome.verified}"] > 0
        assert found["aex_event_deliveries_total{dead_letter,outcome.verified}"] == 0
        assert found.get("aex_queue_oldest_seconds", 0) < 60
    sealed = samples(live, "settlement")
    assert 1 <= sealed["aex_seal_lag_seconds_count"] <= 2
    assert sealed["aex_settlement_lag_seconds_sum"] < 60


def _the_dashboard_can_be_drawn(live: Live) -> None:
    figures = parse_metrics(*(live.http.get(live.url(service, "/metrics")).text for service in MODULES))
    assert [problem for query in QUERIES for problem in find_problems(query, figures)] == []


def _is_followed_through_the_logs(live: Live, contract_id: str) -> None:
    """By one label, in every service that it went through."""
    seen = {
        service for service in MODULES for line in live.log(service) if line[LABELS].get("contract_id") == contract_id
    }
    assert {"work-publisher", "verification"} <= seen


def _lines_name_their_contract(live: Live) -> None:
    """Every line of an event, a timer or a request that has to do with a contract; and with their trace."""
    lines = [line for service in MODULES for line in live.log(service)]
    of_contracts = [line for line in lines if _has_to_do_with_a_contract(line)]
    assert len(of_contracts) > 30
    assert [line for line in of_contracts if not line[LABELS].get("contract_id", "").startswith("ctr_")] == []
    traced = [line for line in of_contracts if line.get(TRACE, "").startswith(f"projects/{PROJECT}/traces/")]
    assert len(traced) == len(of_contracts)
    assert {"DEBUG", "INFO"} <= {line["severity"] for line in lines}


def _has_to_do_with_a_contract(line: dict[str, Any]) -> bool:
    route = line.get("httpRequest", {}).get("requestUrl", "")
    is_award = route == "/v1/work/{work_id}/award"
    requested = "{contract_id}" in route or is_award or route == "/v1/outcomes/validate"
    fired = "timer_kind" in line and line["timer_kind"] != "check"
    return requested or fired or "attempt_id" in line or line.get("event_type", "work.").split(".")[0] != "work"

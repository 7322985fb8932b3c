"""Trace of a contract's complete life over all services, read from the span file."""

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from tests.e2e.holds import decided, waiting_hold
from tests.e2e.jobs import (
    GOOD,
    POOR,
    REFERENCE,
    award,
    candidate,
    contract,
    deliver,
    eventually,
    publish,
    until_settled,
    until_status,
    until_work,
    work_body,
)
from tests.e2e.live import Live
from tests.e2e.parties import Parties, fresh, parties_of
from tests.e2e.shared_suite import traces_of
from tests.e2e.spans import Span, Trace, spans_in

pytestmark = pytest.mark.e2e

WP, VERIFICATION, GOVERNANCE, SETTLEMENT = "@work-publisher", "@verification", "@governance", "@settlement"
AWARD = f"POST /v1/work/{{work_id}}/award {WP}"
OUTPUTS = "POST /v1/contracts/{contract_id}/outputs"
OPENINGS = {f"process contract.awarded {VERIFICATION}", f"open contract {VERIFICATION}"}
"""Parents of a contract's later spans: its event or its agent's request, whichever came first."""
FROM_AWARD = {
    (AWARD, f"publish contract.awarded {WP}"),
    (f"publish contract.awarded {WP}", f"process contract.awarded {VERIFICATION}"),
}
FROM_OUTPUT = {
    (f"submit output {VERIFICATION}", f"publish output.submitted {VERIFICATION}"),
    (f"publish output.submitted {VERIFICATION}", f"process output.submitted {VERIFICATION}"),
    (f"process output.submitted {VERIFICATION}", f"verify candidate {VERIFICATION}"),
}
ASKING = {
    (f"process output.submitted {VERIFICATION}", f"POST /v1/outcomes/validate {VERIFICATION}"),
    (f"POST /v1/outcomes/validate {VERIFICATION}", f"POST /v1/outcomes/validate {GOVERNANCE}"),
}
REJECTION = {(f"process output.submitted {VERIFICATION}", f"publish output.rejected {VERIFICATION}")}
SETTLING = {
    *((f"publish outcome.verified {VERIFICATION}", f"process outcome.verified {by}") for by in (WP, GOVERNANCE)),
    (f"publish outcome.verified {VERIFICATION}", f"process outcome.verified {SETTLEMENT}"),
    (f"process outcome.verified {SETTLEMENT}", f"book settlement {SETTLEMENT}"),
    (f"book settlement {SETTLEMENT}", f"publish settlement.completed {SETTLEMENT}"),
}
LOGGED = {"work-publisher": "work_awarded", "verification": "contract_concluded", "settlement": "contract_settled"}
"""An event of each service about a contract."""
VERIFIED = {(f"process output.submitted {VERIFICATION}", f"publish outcome.verified {VERIFICATION}")}


@dataclass(frozen=True, slots=True)
class Traced:
    """A suite, and the file that its spans go to."""

    live: Live
    file: Path

    def complete_trace(self, trace_id: str, expected: set[tuple[str, str]], caller: str | None = None) -> Trace:
        """Return the trace once it has these spans and no defect.

        Processes export separately: a span may be written before its parent. `caller` is the caller's span id.
        """

        def look() -> Trace | None:
            found = Trace(trace_id, spans_in(self.file, trace_id))
            return found if expected <= found.edges and found.problems(caller) == [] else None

        try:
            return eventually(look)
        except AssertionError:
            found = Trace(trace_id, spans_in(self.file, trace_id))
            raise AssertionError(f"{expected - found.edges} {found.problems(caller)}\n{sorted(found.edges)}") from None

    def of_contract(self, contract_id: str) -> str:
        """The id of the trace that the contract was awarded in."""

        def look() -> Span | None:
            awards = [span for span in spans_in(self.file, contract_id) if span.name == "publish contract.awarded"]
            return next((span for span in awards if span.attributes["aex.contract_id"] == contract_id), None)

        return eventually(look, what=f"the award of {contract_id}").trace_id


@pytest.fixture
def traced(live: Live) -> Traced:
    return Traced(live, traces_of(live.data_dir))


@pytest.fixture
def parties(traced: Traced) -> Parties:
    return parties_of(traced.live)


def below_the_opening(trace: Trace, name: str) -> list[Span]:
    """The spans of this name, which are all right below the contract's opening."""
    found = trace.named(name)
    assert {str(trace.by_id[span.parent_span_id or ""]) for span in found} <= OPENINGS
    return found


def test_without_a_callers_trace_a_contract_has_one_from_its_award_to_its_settlement(
    traced: Traced, parties: Parties
) -> None:
    contract_id = contract(parties)
    assert deliver(parties, contract_id, POOR)["verdict"] == "rejected"
    assert deliver(parties, contract_id, GOOD)["verdict"] == "passed"
    until_settled(parties.finance, contract_id)
    expected = FROM_AWARD | FROM_OUTPUT | REJECTION | ASKING | VERIFIED | SETTLING | {("", AWARD)}
    trace = traced.complete_trace(traced.of_contract(contract_id), expected)
    assert [span.attributes["aex.verdict"] for span in trace.named("verify candidate")] == ["rejected", "passed"]
    attempts = [span.attributes["aex.attempt_id"] for span in below_the_opening(trace, "submit output")]
    assert attempts == [span.attributes["aex.attempt_id"] for span in trace.named("process output.submitted")]
    assert {span.status for span in trace.spans} == {"unset"}


def test_a_request_and_what_it_does_in_the_contracts_trace_point_to_each_other(
    traced: Traced, parties: Parties
) -> None:
    contract_id = contract(parties)
    deliver(parties, contract_id, GOOD)
    trace = traced.complete_trace(traced.of_contract(contract_id), FROM_OUTPUT)
    [submitting] = below_the_opening(trace, "submit output")
    opening = trace.by_id[submitting.parent_span_id or ""]
    [request] = [
        span
        for span in spans_in(traced.file, contract_id)
        if span.name == OUTPUTS and span.attributes["aex.contract_id"] == contract_id
    ]
    assert request.trace_id != trace.spans[0].trace_id
    assert request.leads_to(opening)
    assert submitting.leads_to(request)


def test_with_one_trace_of_the_callers_everything_from_the_works_publication_is_in_it(
    traced: Traced, parties: Parties
) -> None:
    trace_id, caller = uuid4().hex, "00f067aa0ba902b7"
    headers = {"traceparent": f"00-{trace_id}-{caller}-01"}
    work = parties.consumer.post("work-publisher", "/v1/work", work_body(), headers=headers).json()
    contract_id = award(parties, work["work_id"], **headers)
    path = f"/v1/contracts/{contract_id}/outputs?wait_s=30"
    for text in (POOR, GOOD):
        parties.agent.post("verification", path, candidate(text), headers=headers).raise_for_status()
    until_settled(parties.finance, contract_id)
    requests = {("", f"POST /v1/work {WP}"), ("", AWARD), ("", f"{OUTPUTS} {VERIFICATION}")}
    submitting = {
        (f"POST /v1/work {WP}", f"publish work.submitted {WP}"),
        (f"{OUTPUTS} {VERIFICATION}", f"submit output {VERIFICATION}"),
    }
    expected = requests | submitting | FROM_AWARD | FROM_OUTPUT | REJECTION | ASKING | VERIFIED | SETTLING
    trace = traced.complete_trace(trace_id, expected, caller)
    assert trace.named(OUTPUTS)[0].links == []
    for service, event in LOGGED.items():
        lines = [line for line in traced.live.log(service) if line["event"] == event]
        assert {line["trace_id"] for line in lines if line.get("contract_id") == contract_id} == {trace_id}
    requested = [line for line in traced.live.log("governance") if line.get("route") == "/v1/outcomes/validate"]
    assert trace_id in {line["trace_id"] for line in requested}


def test_a_callers_own_trace_of_a_delivery_is_linked_with_the_contracts(traced: Traced, parties: Parties) -> None:
    contract_id, trace_id, caller = contract(parties), uuid4().hex, "00f067aa0ba902b7"
    headers = {"traceparent": f"00-{trace_id}-{caller}-01"}
    path = f"/v1/contracts/{contract_id}/outputs?wait_s=30"
    parties.agent.post("verification", path, candidate(GOOD), headers=headers).raise_for_status()
    until_settled(parties.finance, contract_id)
    trace = traced.complete_trace(trace_id, FROM_OUTPUT | ASKING | VERIFIED | SETTLING, caller)
    assert {link["trace_id"] for link in trace.named(OUTPUTS)[0].links} == {traced.of_contract(contract_id)}


def test_what_a_caller_wants_unrecorded_is_not_recorded(traced: Traced, parties: Parties) -> None:
    trace_id = uuid4().hex
    unrecorded = award(parties, publish(parties)["work_id"], traceparent=f"00-{trace_id}-00f067aa0ba902b7-00")
    deliver(parties, unrecorded, GOOD)
    until_settled(parties.finance, unrecorded)
    later = contract(parties)  # once this one is in the file, the other would be
    deliver(parties, later, GOOD)
    traced.complete_trace(traced.of_contract(later), FROM_OUTPUT | SETTLING)
    # A span of another trace may have a link to this one.
    assert [str(span) for span in spans_in(traced.file, trace_id) if span.trace_id == trace_id] == []


def test_a_deadline_that_passes_ends_the_contract_in_its_trace(traced: Traced, parties: Parties) -> None:
    contract_id = contract(parties, verification={"deadline_s": 1})
    until_settled(parties.finance, contract_id)
    fired = {(f"fire deadline {VERIFICATION}", f"publish outcome.verified {VERIFICATION}")}
    trace = traced.complete_trace(traced.of_contract(contract_id), FROM_AWARD | fired | SETTLING)
    [firing] = below_the_opening(trace, "fire deadline")
    assert firing.attributes["aex.contract_id"] == contract_id


def test_an_operators_decision_is_in_the_trace_of_the_contract_that_was_held(traced: Traced) -> None:
    org = fresh("org")
    parties = parties_of(traced.live, consumer_org=org, agent_org=org)  # of one organisation: self-dealing
    contract_id = contract(parties)
    deliver(parties, contract_id, GOOD, wait_s=0)
    until_status(parties.agent, contract_id, "held")
    decided(parties.operator, waiting_hold(parties.operator, contract_id), "release")
    until_settled(parties.finance, contract_id)
    reviewing = {
        (f"process output.submitted {VERIFICATION}", f"publish outcome.held {VERIFICATION}"),
        (f"publish outcome.held {VERIFICATION}", f"process outcome.held {GOVERNANCE}"),
        (f"process outcome.held {GOVERNANCE}", f"decide hold {GOVERNANCE}"),
        (f"decide hold {GOVERNANCE}", f"publish outcome.reviewed {GOVERNANCE}"),
        (f"publish outcome.reviewed {GOVERNANCE}", f"process outcome.reviewed {VERIFICATION}"),
        (f"process outcome.reviewed {VERIFICATION}", f"publish outcome.verified {VERIFICATION}"),
    }
    traced.complete_trace(traced.of_contract(contract_id), FROM_AWARD | FROM_OUTPUT | ASKING | reviewing | SETTLING)


@pytest.mark.parametrize(("ending", "by"), [("cancel", "consumer"), ("finalize", "agent")])
def test_requested_end_is_in_the_trace_of_the_contract(traced: Traced, parties: Parties, ending: str, by: str) -> None:
    work_id = publish(parties)["work_id"]
    contract_id = award(parties, work_id)
    if ending == "finalize":
        deliver(parties, contract_id, POOR)
    answer = getattr(parties, by).post("verification", f"/v1/contracts/{contract_id}/{ending}")
    assert answer.status_code == 200, answer.text
    until_work(parties.consumer, work_id, "cancelled" if ending == "cancel" else "completed")
    reported, requested = ("contract.cancelled", "cancel") if ending == "cancel" else ("outcome.verified", "finalise")
    ends = {
        (f"{requested} contract {VERIFICATION}", f"publish {reported} {VERIFICATION}"),
        (f"publish {reported} {VERIFICATION}", f"process {reported} {WP}"),
    }
    trace = traced.complete_trace(traced.of_contract(contract_id), FROM_AWARD | ends)
    assert len(below_the_opening(trace, f"{requested} contract")) == 1


def test_the_file_has_no_word_of_what_was_sent_and_no_path_that_a_caller_wrote(
    traced: Traced, parties: Parties
) -> None:
    parties.agent.get("verification", "/v1/contracts/ctr_none", marker="canary-4c1d")
    parties.agent.get("verification", "/canary-4c1d")
    later = contract(parties)
    traced.complete_trace(traced.of_contract(later), FROM_AWARD)
    text = traced.file.read_text(encoding="utf-8")
    names = {span.name for span in spans_in(traced.file)}
    assert "GET /v1/contracts/{contract_id}" in names
    assert not [mark for mark in ("canary-4c1d", REFERENCE, GOOD, POOR, "Bearer", "eyJ") if mark in text]
    assert not {"GET /healthz", "GET /readyz", "GET /metrics"} & names

"""Submissions and events with marked evaluation data in wrong places."""

import json
from collections.abc import Mapping
from typing import Any

from aex_models.events import Event, derive_event_id
from aex_runtime.bus.port import Message
from aex_runtime.bus.wire import encode_event
from aex_runtime.clock import WallClock
from tests.e2e.jobs import work_body
from tests.e2e.live import Live
from tests.e2e.parties import Parties, fresh
from tests.e2e.stores import publish_messages, until_dealt_with
from tests.security.markers import CRITERIA, EVALUATION, MARKS, SCIENCE

_SECRET = MARKS["reference"]
_NUMBER = int(MARKS["number label"])


def _evaluation(**changes: Any) -> dict[str, Any]:
    return {"evaluation": {**EVALUATION, **changes}}


_WRONG: Mapping[str, dict[str, Any]] = {
    "evaluation is text": {"evaluation": _SECRET},
    "reference of a wrong type": _evaluation(reference={"text": _SECRET}),
    "label of a wrong type": _evaluation(ground_truth=[{"label": {"name": MARKS["label"]}}]),
    "ids twice": _evaluation(ground_truth=[{"label": "a", "id": MARKS["label id"]}] * 2),
    "keyword too long": _evaluation(required_keywords=[MARKS["keyword"] * 500]),
    "no pattern": _evaluation(pattern=f"({MARKS['pattern']}"),
    "an escape that RE2 has not": _evaluation(pattern=rf"{MARKS['pattern']}\y"),
    "lookaround": _evaluation(pattern=f"(?={MARKS['pattern']})"),
    "a repetition too large": _evaluation(pattern=f"({MARKS['pattern']}){{5000}}"),
    "no schema": _evaluation(output_schema={"type": MARKS["schema"]}),
    "a number where a schema wants another": _evaluation(output_schema={"minLength": -int(MARKS["schema number"])}),
    "a schema elsewhere": _evaluation(output_schema={"$ref": f"https://example.org/{MARKS['schema']}"}),
    "a schema in a file": _evaluation(output_schema={"$ref": f"file:///{MARKS['schema']}"}),
    "a schema's bad pattern": _evaluation(output_schema={"pattern": f"({MARKS['pattern']}"}),
    "another dialect": _evaluation(output_schema={"$schema": f"urn:{MARKS['schema']}"}),
    "targets of a wrong type": _evaluation(targets=[MARKS["target"]]),
    "target ids twice": _evaluation(targets=[{"value": int(MARKS["target"]), "id": MARKS["label id"]}] * 2),
    "an unknown comparison": _evaluation(records={**EVALUATION["records"], "fields": {"/name": MARKS["record"]}}),
    "nothing relevant": _evaluation(ranking={"relevance": {MARKS["ranked id"]: 0}}),
    "rows that do not fit": _evaluation(sql={**EVALUATION["sql"], "expected": {"rows": MARKS["table cell"]}}),
    "named data of a wrong type": _evaluation(named={"title": {"targets": MARKS["named reference"]}}),
    "fields of a wrong type": _evaluation(required_fields=MARKS["field"]),
    "custom code": _evaluation(custom_metrics=[{"name": "mine", "code": f"# {_SECRET}\nimport socket"}]),
    "custom code of a wrong shape": _evaluation(custom_metrics=[{"name": _SECRET * 20, "code": _NUMBER}]),
    "an unknown key": _evaluation(rubric=_SECRET),
    "in the input": {"input": {"reference": _SECRET, "ground_truth": [_NUMBER]}},
    "in the domain": {"domain": f"{_SECRET} !"},
    "in the title": {"title": [_SECRET]},
    "in the money": {"budget": {"max_cpc": _SECRET, "currency": _SECRET, "max_cpa_total": _NUMBER * 1e9}},
    "in the policy": {"verification": {"verifier": _SECRET, "max_attempts": _NUMBER, "feedback": _SECRET}},
    "in a threshold": {
        "success_criteria": {"criteria": [{**CRITERIA["criteria"][0], "threshold": _SECRET, "scale": _SECRET}]}
    },
    "in an aggregation": {"success_criteria": {**CRITERIA, "aggregation": _SECRET}},
    "in science": {"science": {**SCIENCE, "domain": _SECRET, "checks": [_SECRET]}},
    "science of a wrong shape": {"science": {**SCIENCE, "strict": _SECRET, "data": [_SECRET]}},
    "what is expected in the input": {"input": {"expected_outcome": MARKS["expected outcome"]}},
    "one of many": {**_evaluation(pattern=f"({MARKS['pattern']}", reference=[_NUMBER]), "domain": ""},
}
_TRIED = ("success_criteria", "input", "evaluation", "science")
_RAW = (
    b'{"evaluation": {"reference": "%s"' % _SECRET.encode(),
    b'{"evaluation": {"reference": "%s", "reference": "%s"}}' % (_SECRET.encode(), _SECRET.encode()),
    b'{"evaluation": {"reference": "%s\\u0000"}}' % _SECRET.encode(),
    b'{"evaluation": {"reference": "%s\xff"}}' % _SECRET.encode(),
    b'{"evaluation": {"ground_truth": [%s]}}' % (MARKS["number label"] * 3).encode(),
    b'["%s"]' % _SECRET.encode(),
)


def send_wrong_works(parties: Parties) -> dict[str, int]:
    """Each wrong submission, published, validated and tried; the status of each publication."""
    statuses = {}
    for name, changes in _WRONG.items():
        body = work_body(**{"success_criteria": CRITERIA, **changes})
        statuses[name] = parties.consumer.post("work-publisher", "/v1/work", body, key=fresh("key")).status_code
        parties.consumer.post("work-publisher", "/v1/work/validate", body)
        tried = {part: body[part] for part in _TRIED if part in body}
        parties.consumer.post("verification", "/v1/verify", {**tried, "output": {"text": "nothing"}})
    for content in _RAW:
        name = content[:60].decode(errors="replace")
        statuses[name] = parties.consumer.raw("work-publisher", "/v1/work", content).status_code
        parties.consumer.raw("work-publisher", "/v1/work/validate", content)
        parties.consumer.raw("verification", "/v1/verify", content)
    return statuses


def send_broken_events(live: Live) -> int:
    """Publish unprocessable events full of evaluation data; return how many."""
    secrets = {"evaluation": EVALUATION, "science": SCIENCE}
    work = {"work_id": fresh("work"), "consumer_id": "acme", **secrets, "domain": _SECRET}
    wrong: dict[str, dict[str, Any]] = {
        "work.submitted": {"work_id": fresh("work"), "has_cpa": _SECRET, "evaluation": EVALUATION},
        "contract.awarded": {"award": {"contract_id": [_SECRET]}, "work": work, "terms": {"cpc_rate": _SECRET}},
        "outcome.verified": {"outcome": {"final_result": EVALUATION, "terms": _SECRET, "domain": [_NUMBER]}},
        "outcome.held": {"contract_id": fresh("ctr"), "attempt_id": {"x": _SECRET}, "cause": _SECRET},
    }
    for topic, data in wrong.items():
        garbage = Message({"ce-id": _SECRET, "ce-type": topic}, json.dumps(EVALUATION).encode()[:-2])
        about = {"id": derive_event_id(topic, fresh("cause")), "source": "/aex/test", "subject": fresh("ctr")}
        event = Event(type=topic, time=WallClock().now(), data=data, **about)
        publish_messages(live, topic, [encode_event(event), garbage])
        until_dealt_with(live, topic)
    return 2 * len(wrong)

"""Unreadable events become dead letters: listed, counted, replayed by command; other events continue."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Container, Sequence
from typing import Any
from uuid import uuid4

import pytest

from aex_cli.commands.deadletters import list_dead_letters
from aex_cli.suite.service_spec import MODULES
from aex_models.events import TOPICS
from aex_runtime.bus.port import Message
from tests.e2e.counts import object_counts
from tests.e2e.jobs import GOOD, contract, deliver, eventually, until_settled
from tests.e2e.live import Live, clean_environment
from tests.e2e.parties import Parties
from tests.e2e.stores import publish_messages, until_handled

pytestmark = pytest.mark.e2e
CANARY = "canary-in-a-dead-message"
GAUGE = "aex_dead_letters"


def attributes(topic: str, **changes: str) -> dict[str, str]:
    """Return the attributes of a valid event."""
    proper = {
        "ce-specversion": "1.0",
        "ce-id": f"evt_{uuid4().hex}",
        "ce-type": topic,
        "ce-source": "/aex/tests",
        "ce-subject": "ctr_nothing",
        "ce-time": "2026-01-01T00:00:00Z",
        "content-type": "application/json",
    }
    return proper | changes


def message(topic: str, data: bytes, **changes: str) -> Message:
    return Message(attributes(topic, **changes), data)


def bad_messages(topic: str) -> dict[str, Message]:
    """Messages that are no event of this topic, each with a part of the reason that is to be given."""
    wrong = json.dumps({"outcome": CANARY, "award": CANARY}).encode()
    other = "work.checked" if topic != "work.checked" else "work.submitted"
    return {
        "not JSON": message(topic, f"{{{CANARY}".encode()),
        "not a JSON object": message(topic, f'["{CANARY}"]'.encode()),
        "missing": Message({"ce-type": topic}, wrong),
        "data:": message(topic, wrong),
        "not the topic": message(topic, wrong, **{"ce-type": other}),
        "RFC 3339": message(topic, wrong, **{"ce-time": "soon"}),
        "nested too deeply": message(topic, b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
    }


def aex(live: Live, *arguments: str) -> str:
    command = [sys.executable, "-m", "aex_cli", "deadletters", *arguments, "--data-dir", str(live.data_dir)]
    environment = clean_environment(live.backend.environment)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return done.stdout


def listed(live: Live) -> list[dict[str, Any]]:
    """Return what `aex deadletters list` reads, without starting a process."""
    found = asyncio.run(list_dead_letters(live.settings, list(MODULES), 200))
    return [{"service": each.service, **each.dead_letter.model_dump(mode="json")} for each in found]


def until_dead(live: Live, known: Container[str], services: Sequence[str], each: int) -> list[dict[str, Any]]:
    """The dead letters that are not known, once each of the services has so many of them."""

    def look() -> list[dict[str, Any]] | None:
        found = [letter for letter in listed(live) if letter["id"] not in known]
        dead_lettered = Counter(letter["service"] for letter in found)
        return found if all(dead_lettered[service] >= each for service in services) else None

    return eventually(look, what=f"{each} dead letters of {', '.join(services)}")


@pytest.mark.parametrize("topic", ["contract.awarded", "outcome.verified"])
def test_events_that_cannot_be_read_are_dead_letters_and_nothing_else(live: Live, parties: Parties, topic: str) -> None:
    subscribers = TOPICS[topic].subscribers
    before, counts = {each["id"] for each in listed(live)}, object_counts(live)
    gauges = {service: live.metric(service, GAUGE) for service in subscribers}
    bad = bad_messages(topic)
    publish_messages(live, topic, list(bad.values()))
    found = until_dead(live, before, subscribers, len(bad))
    for service in subscribers:
        reasons = [each["reason"] for each in found if each["service"] == service]
        assert len(reasons) == len(bad)
        for part in bad:
            assert [reason for reason in reasons if part in reason], (service, part, reasons)
        assert live.metric(service, GAUGE) == gauges[service] + len(bad)
        assert CANARY not in (live.data_dir / "logs" / f"{service}.log").read_text(encoding="utf-8")
    assert CANARY not in json.dumps(found)
    assert object_counts(live) == counts

    contract_id = contract(parties)  # the services go on
    deliver(parties, contract_id, GOOD)
    until_settled(parties.finance, contract_id)


def test_replayed_dead_letter_fails_and_is_counted_twice(live: Live) -> None:
    known = {each["id"] for each in listed(live)}
    publish_messages(live, "work.checked", [message("work.checked", b"{}")])
    until_dead(live, known, ("work-publisher",), 1)
    (letter,) = (each for each in json.loads(aex(live, "list", "--json")) if each["id"] not in known)
    assert (letter["service"], letter["topic"], letter["count"]) == ("work-publisher", "work.checked", 1)
    assert aex(live, "replay", letter["id"]).strip() == f"replayed {letter['id']} to work-publisher"

    def failed_twice() -> dict[str, Any] | None:
        return next((each for each in listed(live) if each["id"] == letter["id"]), None)

    repeated = eventually(failed_twice, what="its second death")
    assert repeated["last_at"] > letter["last_at"]
    assert repeated["reason"] == letter["reason"]


def test_events_about_what_is_not_there_change_nothing(live: Live) -> None:
    counts = object_counts(live)
    nothing = {"contract_id": "ctr_nothing", "attempt_id": "att_nothing"}
    review = {"hold_id": "hold_x", "decision": "release", "reason": "x", "by": "x"}
    for topic, data in (("output.submitted", nothing), ("outcome.reviewed", nothing | review)):
        sent = message(topic, json.dumps(data).encode())
        publish_messages(live, topic, [sent])
        until_handled(live, topic, sent.attributes["ce-id"])
    assert object_counts(live) == counts

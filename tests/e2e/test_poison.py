"""Hundreds of unprocessable messages block no subscription; the valid ones are processed.

Other tests show what takes minutes here. The last deliveries are in `tests/libs/runtime/bus/test_consumer.py`.
Counting of deliveries to a killed process is in `tests/bus/test_pubsub_outages.py`. Isolated delivery on Pub/Sub is
in `tests/libs/runtime/bus/test_pubsub_queue.py`.
"""

import asyncio
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from aex_cli.commands.deadletters import list_dead_letters
from aex_models.outcome import OutcomeRecord
from aex_runtime.bus.port import Message, Outgoing
from aex_runtime.bus.wire import encode_event
from aex_runtime.service import Backends
from tests.e2e.backend import EMBEDDED, Backend
from tests.e2e.conftest import StartSuite
from tests.e2e.dying.deaths import Deaths
from tests.e2e.jobs import GOOD, contract, deliver, eventually, until_settled
from tests.e2e.live import Live
from tests.e2e.parties import Parties, PatientCaller, parties_of
from tests.e2e.poisoned.bus import KILLING
from tests.e2e.poisoned.settlement import FAILING
from tests.e2e.stores import outcome_event, stored_outcome, with_backends
from tests.e2e.test_bad_events import message

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
TOPIC, SERVICE = "outcome.verified", "settlement"
OF_EACH = 50
ALTER = "tests.e2e.poisoned.settlement:poisoned_backends"
WITHIN_S = 120.0
"""For all that is good: a small part of the minutes in which those that fail use up their attempts."""


def renamed(record: OutcomeRecord, name: str, **changes: Any) -> OutcomeRecord:
    """The outcome of another contract, that ended in the same way."""
    result = record.verification_result
    assert result is not None
    its = {"contract_id": f"ctr_{name}"}
    own = {"id": f"out_{name}", "verification_result": result.model_copy(update=its), **its}
    return record.model_copy(update={**own, **changes})


def event_of(record: OutcomeRecord) -> Message:
    return encode_event(outcome_event(record))


def miscounted(record: OutcomeRecord, name: str) -> OutcomeRecord:
    """An outcome whose amounts are not what its terms make of it."""
    impact = record.billing_impact
    wrong = impact.model_copy(update={"base": impact.base + 1, "total": impact.total + 1})
    return renamed(record, name, billing_impact=wrong)


def poison(record: OutcomeRecord, killers: int) -> list[Message]:
    """Publish this many messages of each kind; those of the last two kinds are valid JSON."""
    return [
        *(message(TOPIC, b"{not JSON %d" % number) for number in range(OF_EACH)),
        *(message(TOPIC, b'{"outcome": %d}' % number) for number in range(OF_EACH)),
        *(event_of(miscounted(record, f"miscounted{number}")) for number in range(OF_EACH)),
        *(event_of(renamed(record, f"{FAILING.removeprefix('ctr_')}{number}")) for number in range(OF_EACH)),
        *(event_of(renamed(record, f"{KILLING.removeprefix('ctr_')}{number}")) for number in range(killers)),
    ]


def publish(live: Live, messages: list[Message]) -> None:
    async def put(backends: Backends) -> None:
        for start in range(0, len(messages), 50):
            await backends.bus.publish([Outgoing(TOPIC, each, SERVICE) for each in messages[start : start + 50]])

    with_backends(live, "verification", put)


def settled(parties: Parties, names: list[str]) -> bool | None:
    """Return whether every one of these contracts is settled."""
    answers = (parties.finance.get(SERVICE, f"/v1/settlements/ctr_{name}") for name in names)
    return True if all(answer.status_code == 200 for answer in answers) else None


def test_good_events_among_hundreds_of_poisonous_ones_are_dealt_with(
    backend: Backend, start_suite: StartSuite, tmp_path: Path
) -> None:
    killers = 1 if backend is EMBEDDED else 0  # Pub/Sub takes ten seconds to notice each death
    environment = dict(Deaths.ordered_in(tmp_path / "deaths"))
    live = start_suite(backend, checked=False, environment=environment, alter=ALTER)  # events fail here
    parties = parties_of(live, kind=PatientCaller)
    first = contract(parties)
    deliver(parties, first, GOOD)
    until_settled(parties.finance, first)
    record = stored_outcome(live, first)

    good = [f"good{number}" for number in range(30)]
    mixed = poison(record, killers) + [event_of(renamed(record, name)) for name in good]
    random.Random(9).shuffle(mixed)
    began = time.monotonic()
    publish(live, mixed)
    later = contract(parties)  # and the platform's own work goes on
    deliver(parties, later, GOOD)
    until_settled(parties.finance, later, within_s=WITHIN_S)
    eventually(lambda: settled(parties, good), WITHIN_S, "the settlements of all that is good")
    took_s = time.monotonic() - began

    expected = {"undecodable": OF_EACH, "data": OF_EACH, "cost": OF_EACH, "killer": killers}
    eventually(lambda: True if kinds(live) == expected else None, WITHIN_S, f"dead letters: {expected}")
    assert live.metric(SERVICE, "aex_dead_letters") == sum(expected.values())
    waiting = {line["event_id"] for line in live.log(SERVICE) if line["event"] == "event_retried"}
    assert len(waiting) == OF_EACH
    assert settled(parties, ["miscounted0"]) is None
    reported = f"\n{len(mixed)} events, {len(good)} good ones settled after {took_s:.1f} s; dead: {kinds(live)}"
    print(reported)  # noqa: T201 a figure to read, not to test


def kinds(live: Live) -> dict[str, int]:
    """Count the dead letters of settlement by the beginning of their reasons."""
    beginnings = {
        "undecodable": "undecodable",
        "data:": "data",
        "billing_impact": "cost",
        "the process died in 5 deliveries": "killer",
    }
    found: Counter[str] = Counter(dict.fromkeys(beginnings.values(), 0))
    for each in asyncio.run(list_dead_letters(live.settings, [SERVICE], 1_000)):
        reason = each.dead_letter.reason
        begin = next((known for known in beginnings if reason.startswith(known)), reason)
        found[beginnings.get(begin, begin)] += 1
    return dict(found)

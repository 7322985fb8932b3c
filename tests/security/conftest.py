"""Suite shared by the folder, with a partner's issuer beside its own; it logs everything."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.e2e.live import Live, live_suite
from tests.libs.runtime.identity.issuing import Signer, signer, write_jwks
from tests.parts.openai_stub import OpenAIStub, reply_review, run_openai_stub
from tests.security.aftermath import Aftermath, play_all
from tests.security.markers import REVIEW_MARKS, REVIEWER_KEY
from tests.security.recorded import FOLDER
from tests.security.tape import Tape

PARTNER = "https://partner.example"
TIMEOUT_S = 600
"""Limit of a test that first plays the story: on a busy machine that takes over two minutes."""
RECORDED = "tests.security.recorded:recorded"


@dataclass(frozen=True, slots=True)
class Attacked:
    """The running suite, the copies of its events, and a partner's key that may grant only `agent`."""

    live: Live
    events: Path
    partner: Signer
    reviewer: OpenAIStub


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    location = tmp_path_factory.mktemp("security")
    partner = signer()
    trusted = {
        "iss": PARTNER,
        "roles": ["agent"],
        "jwks": str(write_jwks(location / "partner.jwks.json", partner)),
        "algorithms": ["EdDSA"],
    }
    events = location / "events"
    events.mkdir()
    reported = reply_review(reasoning=REVIEW_MARKS["reasoning"], issues=[REVIEW_MARKS["issue"]])
    with run_openai_stub(reported) as reviewer:
        asking = {**reviewer.environment(), "AEX_REVIEW_API_KEY": REVIEWER_KEY}
        traced = {"AEX_LOG_LEVEL": "debug", FOLDER: str(events)}
        environment = {**asking, **traced, "AEX_ISSUERS": json.dumps([trusted])}
        with live_suite(location / ".aex", environment=environment, alter=RECORDED) as live:
            yield Attacked(live, events, partner, reviewer)


@pytest.fixture(scope="session")
def live(attacked: Attacked) -> Live:
    return attacked.live


@pytest.fixture(scope="session")
def aftermath(attacked: Attacked, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aftermath]:
    tape = Tape()
    with tape.client() as client:
        live = replace(attacked.live, http=client)
        apps = tmp_path_factory.mktemp("apps") / ".aex"
        yield play_all(live, attacked.events, tape, attacked.reviewer.requests, apps)

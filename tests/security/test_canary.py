"""Marked evaluation data and secrets pass through the suite and appear only where they may."""

import base64
import json
import re
from pathlib import Path

import httpx
import pytest

from aex_models.events import SERVICES, TOPICS
from aex_models.work import FeedbackLevel
from aex_runtime.identity.local_key import load_or_create_key
from tests.e2e.live import Live
from tests.e2e.parties import parties_of
from tests.security.aftermath import Aftermath
from tests.security.apps import all_guards
from tests.security.conftest import TIMEOUT_S
from tests.security.markers import CRITERIA, DATA_MARKS, DATA_MEAN, MARKS, REVIEW_MARKS, REVIEWER_KEY, SCIENCE, scan
from tests.security.recorded import EXPORTED
from tests.security.story import Played
from tests.security.tape import Answer, Tape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TIMEOUT_S)]
VISIBLE_TOPICS = TOPICS.keys() - {"work.checked"}
CONTENT = {
    "events": "settlement.completed",
    "logs": "contract_id",
    "spans": "trace_id",
    "records": "contract_id",
    "blobs": "Mine",
    "dead letters": "outcome.verified",
    "prompts": SCIENCE["question"],
}
"""Kinds of locations, each with a text that is read there."""
UNREAD = {
    *("/v1/domains/{name}", "/v1/artifacts/{sha256}", "/docs", "/openapi.json", "/docs/start.js"),
    *("/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"),
    *(f"{site}/{path}" for site in ("/review", "/dashboard") for path in ("", "{rest}", "static/{digest}/{name}")),
}
"""Addresses that tell nothing of a contract, or are asked elsewhere."""
OTHERS = ("agent", "finance", "operator", "service", "anonymous")
_RENDERS_WORK = re.compile(r"/v1/work(/work_\w+(/cancel)?)?")
_JWT = re.compile(r"eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}")


def test_story_reaches_every_status_and_topic(aftermath: Aftermath) -> None:
    assert set(aftermath.refused.values()) == {400, 422}, aftermath.refused
    statuses = {
        each.parties.operator.read("verification", f"/v1/contracts/{each.ids['contract_id']}")["status"]
        for each in aftermath.played
    }
    assert statuses == {"passed", "exhausted", "failed", "expired", "finalised", "cancelled"}
    counted = sum(aftermath.live.metric(service, "aex_dead_letters") for service in SERVICES)
    assert counted >= aftermath.dead_letters
    assert {json.loads(line)[0] for _, text in aftermath.wire() for line in text.splitlines()} >= VISIBLE_TOPICS


def test_consumer_reads_its_evaluation_data(aftermath: Aftermath) -> None:
    played = aftermath.played[0]
    text = played.parties.consumer.get("work-publisher", f"/v1/work/{played.ids['work_id']}").text
    assert {each.mark for each in scan([("work", text)], MARKS)} == set(MARKS)


def test_other_readers_get_no_evaluation_data(aftermath: Aftermath) -> None:
    assert scan([("criteria", json.dumps(CRITERIA)), *aftermath.tape.to(*OTHERS)], MARKS) == []


def test_consumer_reads_evaluation_data_in_works_only(aftermath: Aftermath) -> None:
    locations = [(str(each), each.text) for each in aftermath.tape.answers if not _renders_work(each)]
    assert len(locations) < len(aftermath.tape.answers)
    assert scan(locations, MARKS) == []


def _matches(route: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\{\w+\}", "[^?]+", route), path) is not None


def _renders_work(answer: Answer) -> bool:
    succeeded = answer.status in {200, 201} and answer.role == "consumer"
    return succeeded and _RENDERS_WORK.fullmatch(answer.path) is not None and answer.text.count('"work_id"') == 1


@pytest.mark.parametrize("kind", CONTENT)
def test_no_location_holds_evaluation_or_raw_data(aftermath: Aftermath, kind: str) -> None:
    locations = aftermath.locations_of(kind)
    assert scan(locations, {"content": CONTENT[kind]}) != []
    found = {each.mark for each in scan(locations, {**MARKS, **DATA_MARKS})}
    assert found == ({"column"} if kind in {"records", "prompts"} else set())  # a peer reviewer reads names of columns


def test_every_route_was_read(aftermath: Aftermath, tmp_path: Path) -> None:
    read = {each.path for each in aftermath.tape.answers if each.method == "GET" and each.status == 200}
    routes = {route.path.replace(":path", "") for route in all_guards(tmp_path / ".aex") if route.method == "GET"}
    assert {path for path in routes - UNREAD if not any(_matches(path, each) for each in read)} == set()


def test_recorded_and_exported_spans_are_scanned(aftermath: Aftermath) -> None:
    exported = {location: text for location, text in aftermath.spans() if location.endswith(EXPORTED)}
    assert len(exported) == len(aftermath.spans()) - len(exported) == len(SERVICES)
    assert all('"name":"process ' in text for text in exported.values())
    assert "url.path" in "".join(text for location, text in aftermath.spans() if location not in exported)
    assert not [name for name in ("url.path", "url.query", "exception") if name in "".join(exported.values())]


def test_reviews_are_read_by_consumers_and_operators_only(aftermath: Aftermath) -> None:
    assert {each.mark for each in scan(aftermath.tape.to("operator"), REVIEW_MARKS)} == set(REVIEW_MARKS)
    assert scan(aftermath.tape.to("agent", "finance", "service", "anonymous"), REVIEW_MARKS) == []
    for kind in ("events", "logs", "spans", "dead letters"):
        assert scan(aftermath.locations_of(kind), REVIEW_MARKS) == []


def test_raw_data_are_read_by_their_consumer_only(aftermath: Aftermath) -> None:
    own = [each for each in aftermath.tape.answers if each.path.startswith("/v1/artifacts/") and each.status == 200]
    assert {each.role for each in own} == {"consumer"}
    assert {each.mark for each in scan([(str(each), each.text) for each in own], DATA_MARKS)} == set(DATA_MARKS)
    others = [(str(each), each.text) for each in aftermath.tape.answers if each not in own]
    assert scan(others, DATA_MARKS) == []


def test_scan_of_the_stores_finds_their_content(aftermath: Aftermath) -> None:
    assert {each.mark for each in scan(aftermath.rows(), MARKS)} == set(MARKS)  # the broken messages
    contract_id = aftermath.played[0].ids["contract_id"]
    owners = {each.location.partition(":")[0] for each in scan(aftermath.rows(), {"contract": contract_id})}
    assert owners == {"work-publisher", "verification", "governance", "settlement"}


def test_secret_values_reach_agents_at_full_feedback_only(aftermath: Aftermath) -> None:
    """Values from evaluation data and from raw data."""
    reported, every = 0, {"mean": DATA_MEAN}
    for played in aftermath.played:
        values = {**_secret_values(aftermath.live, played), "mean": DATA_MEAN}
        every |= values
        contract_id = played.ids["contract_id"]
        answers = [(str(each), each.text) for each in aftermath.tape.answers if each.role == "agent"]
        found = scan([each for each in answers if contract_id in "".join(each)], values)
        reported += sum(each.mark != "mean" for each in found)
        assert played.level is FeedbackLevel.FULL or found == []
    assert reported > 0
    assert len(every) > 5
    assert scan(aftermath.tape.to("operator"), {"mean": DATA_MEAN}) != []
    # The digits of a time of day can equal those of a metric.
    logs = [(name, re.sub(r"T\d\d:\d\d:\d\d\.\d+Z", "", text)) for name, text in aftermath.logs()]
    assert scan(logs, every) == []


def _secret_values(live: Live, played: Played) -> dict[str, str]:
    parties, path = parties_of(live), f"/v1/contracts/{played.ids['contract_id']}/attempts"
    catalog = parties.operator.read("verification", "/v1/metrics/catalog")["items"]
    secret = {each["name"] for each in catalog if each["secret"]}
    results = [each["result"] for each in parties.operator.read("verification", path)["items"]]
    assert all(result is not None for result in results)
    return {
        f"{metric} {value}": repr(value)[:7]
        for result in results
        for metric, value in result["metrics"].items()
        if metric in secret and isinstance(value, float) and len(repr(value)) > 7
    }


def test_no_location_holds_a_credential(aftermath: Aftermath) -> None:
    answers = ((str(each), each.text) for each in aftermath.tape.answers)
    locations = [*answers, *aftermath.rows(), *aftermath.locations()]
    key = load_or_create_key(aftermath.live.data_dir)
    seed = key.private.private_bytes_raw()
    pem = (aftermath.live.data_dir / "keys" / "local-issuer.pem").read_text().splitlines()[1]
    secrets = {
        "seed in hex": seed.hex(),
        "seed in base64": base64.urlsafe_b64encode(seed).decode().rstrip("="),
        "key file": pem,
        "cursor key": key.derive_secret("page cursors").hex(),
        "reviewer's key": REVIEWER_KEY,
    }
    assert scan(locations, secrets) == []
    assert all(_JWT.search(token) for token in aftermath.tokens)
    assert [location for location, text in locations if _JWT.search(text)] == []


def test_salt_stays_in_its_blob_and_digest_among_services(aftermath: Aftermath) -> None:
    blobs = aftermath.evaluation_blobs()
    assert len(blobs) >= len(aftermath.played)
    salts = {f"salt {digest}": salt for digest, salt in blobs.items()}
    tape = aftermath.tape
    assert scan([*tape.to("consumer", *OTHERS), *aftermath.wire(), *aftermath.logs(), *aftermath.rows()], salts) == []
    digests = {f"digest {digest}": digest for digest in blobs}
    readers = [role for role in ("consumer", *OTHERS) if role != "service"]
    assert scan([*tape.to(*readers), *aftermath.logs()], digests) == []
    assert scan(tape.to("service"), digests) != []


def test_leak_in_headers_body_or_refusal_is_found() -> None:
    tape, mark = Tape(), MARKS["keyword"]
    refusal = f"<li>{mark.upper()}</li>"
    leaks = [
        httpx.Response(200, json=[mark]),
        httpx.Response(204, headers={"X-Mark": mark}),
        httpx.Response(422, text=refusal),
    ]
    with tape.client(httpx.MockTransport(lambda _: leaks.pop())) as client:
        for _ in range(3):
            client.get("http://planted/")
    assert len(scan(tape.to("anonymous"), MARKS)) == 3


def test_scanner_finds_encoded_marks() -> None:
    mark = MARKS["keyword"]
    in_base64 = (base64.b64encode(f"{before}{mark} and more".encode()).decode() for before in ("", "a", "ab", "abc"))
    for planted in (mark, mark.upper(), mark.encode().hex(), *in_base64):
        assert [each.mark for each in scan([("log", f'{{"detail": "{planted}"}}')], MARKS)] == ["keyword"], planted

"""Marked evaluation data and secrets pass through the whole suite; they come out where they may, and nowhere else."""

import base64
import json
import re
import shutil
from itertools import chain
from pathlib import Path

import httpx
import pytest

from aex_models.events import SERVICES
from aex_models.work import FeedbackLevel
from aex_runtime.identity.local_key import local_key
from tests.e2e.live import Live
from tests.e2e.parties import parties_of
from tests.security.aftermath import Aftermath
from tests.security.apps import all_guards
from tests.security.markers import CRITERIA, DATA_MARKS, DATA_MEAN, MARKS, REVIEW_MARKS, REVIEWER_KEY, scan
from tests.security.planting import with_a_leak
from tests.security.recorded.spans import EXPORTED
from tests.security.story import Played
from tests.security.tape import Answer, Tape

pytestmark = pytest.mark.e2e
TOLD_TOPICS = {
    *("work.submitted", "contract.awarded", "output.submitted", "output.rejected", "outcome.held"),
    *("outcome.reviewed", "outcome.verified", "contract.cancelled", "settlement.completed"),
    "settlement.adjusted",
}
KINDS = ("events", "logs", "spans", "records", "blobs", "dead letters", "prompts")
UNREAD = {
    *("/v1/domains/{name}", "/v1/artifacts/{sha256}", "/docs", "/openapi.json", "/docs/start.js"),
    *("/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"),
    *(f"{site}/{path}" for site in ("/review", "/dashboard") for path in ("", "{rest}", "static/{digest}/{name}")),
}
"""Addresses that tell nothing of a contract, or are asked elsewhere."""
OTHERS = ("agent", "finance", "operator", "service", "anonymous")
_RENDERS_WORK = re.compile(r"/v1/work(/work_\w+(/cancel)?)?")
_JWT = re.compile(r"eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}")


def test_the_story_went_everywhere(aftermath: Aftermath) -> None:
    """Without this the others could pass because nothing happened."""
    assert set(aftermath.refused.values()) == {400, 422}, aftermath.refused
    statuses = {
        each.parties.operator.read("verification", f"/v1/contracts/{each.ids['contract_id']}")["status"]
        for each in aftermath.played
    }
    assert statuses == {"passed", "exhausted", "failed", "expired", "finalised", "cancelled"}
    counted = sum(aftermath.live.metric(service, "aex_dead_letters") for service in SERVICES)
    assert counted >= aftermath.dead_letters
    assert {json.loads(line)[0] for _, text in aftermath.wire() for line in text.splitlines()} >= TOLD_TOPICS


def test_its_consumer_reads_the_evaluation_data(aftermath: Aftermath) -> None:
    played = aftermath.played[0]
    text = played.parties.consumer.get("work-publisher", f"/v1/work/{played.ids['work_id']}").text
    assert {each.mark for each in scan([("work", text)], MARKS)} == set(MARKS)


def test_nobody_else_is_answered_with_evaluation_data(aftermath: Aftermath) -> None:
    assert scan(aftermath.tape.to(*OTHERS), MARKS) == []


def test_consumers_meet_evaluation_data_in_their_works_alone(aftermath: Aftermath) -> None:
    places = [(str(each), each.text) for each in aftermath.tape.answers if not _renders_work(each)]
    assert len(places) < len(aftermath.tape.answers)
    assert scan(places, MARKS) == []


def _matches(route: str, path: str) -> bool:
    """Whether an address is one of the route's."""
    return re.fullmatch(re.sub(r"\{\w+\}", "[^?]+", route), path) is not None


def _renders_work(answer: Answer) -> bool:
    succeeded = answer.status in {200, 201} and answer.role == "consumer"
    return succeeded and _RENDERS_WORK.fullmatch(answer.path) is not None and answer.text.count('"work_id"') == 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_place_holds_evaluation_data(aftermath: Aftermath, kind: str) -> None:
    """But for the evaluation blobs, and for broken messages as they were sent: those hold what was sent."""
    places = aftermath.places_of(kind)
    assert any(text for _, text in places)
    assert scan(places, MARKS) == []


def test_nothing_was_left_unread(aftermath: Aftermath, tmp_path: Path) -> None:
    """Without this an address that refuses all its readers would count as one that tells nothing."""
    read = {each.path for each in aftermath.tape.answers if each.method == "GET" and each.status == 200}
    routes = {route.path.replace(":path", "") for route in all_guards(tmp_path / ".aex") if route.method == "GET"}
    assert {path for path in routes - UNREAD if not any(_matches(path, each) for each in read)} == set()


def test_spans_were_scanned_as_they_are_made_and_as_they_are_exported(aftermath: Aftermath) -> None:
    """What is exported has less: no path and no query, which callers write."""
    exported = {place: text for place, text in aftermath.spans() if place.endswith(EXPORTED)}
    assert len(exported) == len(aftermath.spans()) - len(exported) == len(SERVICES)
    assert all('"name":"process ' in text for text in exported.values())
    assert "url.path" in "".join(text for place, text in aftermath.spans() if place not in exported)
    assert not [name for name in ("url.path", "url.query", "exception") if name in "".join(exported.values())]


@pytest.mark.parametrize(
    "beginning", ["/dashboard", "/review", "/metrics", "/v1/outcomes/export", "/v1/settlements/export", "/v1/contracts"]
)
def test_pages_figures_files_and_streams_were_scanned(aftermath: Aftermath, beginning: str) -> None:
    answers = aftermath.tape.at(beginning)
    assert {each.role for each in answers} > {"operator"} or beginning != "/metrics"
    assert scan([(str(each), each.text) for each in answers], MARKS) == []
    assert sum(len(each.text) for each in answers) > 1_000


def test_what_the_reviewer_says_is_read_by_consumers_and_operators_alone(aftermath: Aftermath) -> None:
    assert {each.mark for each in scan(aftermath.tape.to("operator"), REVIEW_MARKS)} == set(REVIEW_MARKS)
    assert scan(aftermath.tape.to("agent", "finance", "service", "anonymous"), REVIEW_MARKS) == []
    for kind in ("events", "logs", "spans", "dead letters"):
        assert scan(aftermath.places_of(kind), REVIEW_MARKS) == []


def test_the_consumers_own_data_are_read_by_the_consumer_alone(aftermath: Aftermath) -> None:
    own = [each for each in aftermath.tape.answers if each.path.startswith("/v1/artifacts/") and each.status == 200]
    assert {each.role for each in own} == {"consumer"}
    assert {each.mark for each in scan([(str(each), each.text) for each in own], DATA_MARKS)} == set(DATA_MARKS)
    others = [(str(each), each.text) for each in aftermath.tape.answers if each not in own]
    assert scan(others, DATA_MARKS) == []
    for places in aftermath.places().values():
        assert scan(places, DATA_MARKS) == []


def test_what_is_computed_from_the_consumers_own_data_reaches_agents_at_full_feedback_alone(
    aftermath: Aftermath,
) -> None:
    figure = {"mean": DATA_MEAN}
    for played in aftermath.played:
        contract_id = played.ids["contract_id"]
        about = [each for each in aftermath.tape.answers if contract_id in each.text or contract_id in each.path]
        if played.level is not FeedbackLevel.FULL:
            assert scan([(str(each), each.text) for each in about if each.role == "agent"], figure) == []
    assert scan(aftermath.tape.to("operator"), figure) != []
    assert scan(aftermath.logs(), figure) == []


def test_the_scan_of_the_stores_reaches_their_content(aftermath: Aftermath) -> None:
    assert {each.mark for each in scan(aftermath.rows(), MARKS)} == set(MARKS)  # the broken messages
    contract_id = aftermath.played[0].ids["contract_id"]
    holders = {each.place.partition(":")[0] for each in scan(aftermath.rows(), {"contract": contract_id})}
    assert holders == {"work-publisher", "verification", "governance", "settlement"}


def test_values_from_evaluation_data_reach_agents_at_full_feedback_alone(aftermath: Aftermath) -> None:
    told = 0
    for played in aftermath.played:
        values = _secret_values(aftermath.live, played)
        contract_id = played.ids["contract_id"]
        answers = [
            (str(each), each.text)
            for each in aftermath.tape.answers
            if each.role == "agent" and (contract_id in each.text or contract_id in each.path)
        ]
        found = scan(answers, values)
        told += played.level is FeedbackLevel.FULL and len(found)
        if played.level is not FeedbackLevel.FULL:
            assert found == []
    assert told > 0


def _secret_values(live: Live, played: Played) -> dict[str, str]:
    """Values of secret metrics that no other number begins like, as an operator reads them."""
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


def test_values_from_evaluation_data_are_in_no_log(aftermath: Aftermath) -> None:
    values: dict[str, str] = {}
    for played in aftermath.played:
        values |= _secret_values(aftermath.live, played)
    assert len(values) > 4
    assert scan(aftermath.logs(), values) == []


def test_no_answer_event_log_or_record_holds_a_credential(aftermath: Aftermath) -> None:
    kinds = aftermath.places().values()
    places = [*((str(each), each.text) for each in aftermath.tape.answers), *aftermath.rows(), *chain(*kinds)]
    key = local_key(aftermath.live.data_dir)
    seed = key.private.private_bytes_raw()
    pem = (aftermath.live.data_dir / "keys" / "local-issuer.pem").read_text().splitlines()[1]
    secrets = {
        "seed in hex": seed.hex(),
        "seed in base64": base64.urlsafe_b64encode(seed).decode().rstrip("="),
        "key file": pem,
        "cursor key": key.secret_for("page cursors").hex(),
        "reviewer's key": REVIEWER_KEY,
    }
    assert scan(places, secrets) == []
    assert all(_JWT.search(token) for token in aftermath.tokens)
    assert [place for place, text in places if _JWT.search(text)] == []


def test_the_salt_stays_in_its_blob_and_the_digest_among_services(aftermath: Aftermath) -> None:
    blobs = aftermath.evaluation_blobs()
    assert len(blobs) >= len(aftermath.played)
    salts = {f"salt {digest}": salt for digest, salt in blobs.items()}
    tape = aftermath.tape
    assert scan([*tape.to("consumer", *OTHERS), *aftermath.wire(), *aftermath.logs(), *aftermath.rows()], salts) == []
    digests = {f"digest {digest}": digest for digest in blobs}
    readers = [role for role in ("consumer", *OTHERS) if role != "service"]
    assert scan([*tape.to(*readers), *aftermath.logs()], digests) == []
    assert scan(tape.to("service"), digests) != []


@pytest.mark.parametrize("kind", KINDS)
def test_a_leak_that_is_planted_is_found(aftermath: Aftermath, tmp_path: Path, kind: str) -> None:
    """A check of the checker: a mark written where each kind of place is read from."""
    leaking = with_a_leak(aftermath, tmp_path, kind, MARKS["keyword"])
    assert {each.mark for each in scan(leaking.places_of(kind), MARKS)} == {"keyword"}


def test_a_leak_in_an_answer_is_found() -> None:
    """Also one in a header, or in a refusal."""
    tape = Tape()
    leaks = iter(
        (
            httpx.Response(200, json={"told": MARKS["keyword"]}),
            httpx.Response(204, headers={"X-Told": MARKS["keyword"]}),
            httpx.Response(422, text=f"<li>{MARKS['keyword'].upper()}</li>"),
        )
    )
    with tape.client(httpx.MockTransport(lambda _: next(leaks))) as client:
        for _ in range(3):
            client.get("http://planted/")
    assert len(scan(tape.to("anonymous"), MARKS)) == 3


def test_the_scanner_finds_what_is_planted(aftermath: Aftermath, tmp_path: Path) -> None:
    """A check of the checker, in a copy of a log: as it is, in capitals, in hex and in base64 behind other text."""
    log = Path(shutil.copy(aftermath.live.data_dir / "logs" / "verification.log", tmp_path))
    assert scan([("log", log.read_text())], MARKS) == []
    mark = MARKS["keyword"]
    in_base64 = (base64.b64encode(f"{before}{mark} and more".encode()).decode() for before in ("", "a", "ab", "abc"))
    for planted in (mark, mark.upper(), mark.encode().hex(), *in_base64):
        text = log.read_text()
        with log.open("a") as file:
            file.write(f'{{"event": "planted", "detail": "{planted}"}}\n')
        assert [each.mark for each in scan([("log", log.read_text())], MARKS)] == ["keyword"], planted
        log.write_text(text)


def test_criteria_are_open_but_hold_no_mark() -> None:
    assert scan([("criteria", json.dumps(CRITERIA))], MARKS) == []

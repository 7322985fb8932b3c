"""Continuation of data of an earlier version that was killed, on both backends.

The open contracts of the fixtures end in the year 2126. `tests.fixtures.make_layout_2` lists the other content.
"""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from aex_models.audiences import Audience
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from tests.fixtures.emulated import EmulatorState
from tests.fixtures.suite import CONSUMER, FINANCE, OPERATOR, ROOT, Suite, contract_agent, eventually, run_suite

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]
ARCHIVES = {"embedded": "layout-2.tar.gz", "emulators": "layout-2-emulators.tar.gz"}
CONTINUED = ("awarded", "revision", "held", "reviewed", "judging", "closing", "settling", "new")


@pytest.fixture(params=["embedded", pytest.param("emulators", marks=pytest.mark.emulator)])
def variables(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Unpack the old data; return the variables of their backend."""
    with tarfile.open(ROOT / "tests" / "fixtures" / ARCHIVES[request.param]) as archive:
        archive.extractall(tmp_path, filter="data")
    if request.param == "embedded":
        return {}
    pair, project = request.getfixturevalue("emulators"), f"t-{uuid4().hex[:12]}"
    firestore, pubsub = pair.firestore.host, pair.pubsub.host
    EmulatorState(firestore, pubsub, project).load((tmp_path / "emulators.json").read_text())
    urls = {"AEX_STORE_URL": f"firestore://{project}", "AEX_BUS_URL": f"pubsub://{project}"}
    return {"FIRESTORE_EMULATOR_HOST": firestore, "PUBSUB_EMULATOR_HOST": pubsub, **urls}


@pytest.fixture
def suite(variables: dict[str, str], tmp_path: Path) -> Iterator[Suite]:
    with run_suite(tmp_path / "data", variables) as started:
        issuer = LocalIssuer(load_or_create_key(tmp_path / "data"), WallClock(), RandomIds())
        for role, sub, *org in (CONSUMER, OPERATOR, FINANCE, *map(contract_agent, ("checked", *CONTINUED))):
            started.tokens[role, sub, *org] = issuer.mint(sub, Audience(role), org=org[0] if org else None)
        yield started


def award_checked(suite: Suite, key: str, body: dict[str, Any]) -> str:
    """Return a contract over the work whose publisher died before it had sent it to be checked."""
    response = suite.insist(CONSUMER, "work-publisher", "/v1/work", body, headers={"Idempotency-Key": key})
    assert response.headers["Idempotent-Replayed"] == "true"
    path = f"/v1/work/{response.json()['work_id']}"
    eventually(lambda: suite.call(CONSUMER, "work-publisher", path)["status"] == "open" or None, "an open work")
    award = {"agent_id": contract_agent("checked")[1], "cpc_rate": "0.40"}
    return str(suite.call(CONSUMER, "work-publisher", f"{path}/award", award)["contract_id"])


def check_settled_once(suite: Suite, name: str, contract_id: str, total: str) -> None:
    """Wait for the settlement: one revision, one posting to the agent, and a work that is completed."""
    suite.wait_until_settled(contract_id)
    contract, outcome, settlement = suite.read_contract(contract_id).values()
    assert (contract["status"], outcome["final_status"], settlement["cost"]["total"]) == ("passed", "passed", total)
    assert contract["attempts_used"] == (2 if name == "revision" else 1)
    entries = f"/v1/accounts/agent:{contract_agent(name)[1]}/entries"

    def look() -> list[Any] | None:
        return suite.call(FINANCE, "settlement", entries)["items"] or None

    assert [each["contract_id"] for each in eventually(look, f"the entry of {name}")] == [contract_id]
    work = f"/v1/work/{contract['work_id']}"
    eventually(lambda: suite.call(CONSUMER, "work-publisher", work)["status"] == "completed" or None, f"{work} done")


DEFAULTS: dict[str, Any] = {"stored": True, "details": {}}
"""Fields of later versions with the value that they have in old records; others are null."""


def without_new_fields(now: Any, before: Any) -> Any:
    """Return an answer without the defaults of fields that the earlier one did not have."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {
            name: without_new_fields(value, before.get(name))
            for name, value in now.items()
            if name in before or value != DEFAULTS.get(name)
        }
    if isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        return [without_new_fields(*pair) for pair in zip(now, before, strict=True)]
    return now


def check_found_by_filters(suite: Suite, contract_id: str) -> None:
    """Find an old contract and its outcome by fields that were not indexed when they were written."""
    contract, outcome, _ = suite.read_contract(contract_id).values()
    expected = {"contracts": [contract_id], "outcomes": [contract_id] if outcome else []}
    for kind, ids in expected.items():
        found = suite.call(CONSUMER, "verification", f"/v1/{kind}?work_id={contract['work_id']}")["items"]
        assert [each["contract_id"] for each in found] == ids
    listed = suite.call(CONSUMER, "verification", "/v1/outcomes?limit=200&domain=news")["items"]
    assert (contract_id in {each["contract_id"] for each in listed}) is bool(outcome)


def test_old_data_continue_and_every_contract_settles_once(
    suite: Suite, variables: dict[str, str], tmp_path: Path
) -> None:
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    contracts = dict(manifest["contracts"])
    suite.kill("settlement")
    suite.deliver("awarded", contracts["awarded"])
    suite.kill("verification")
    suite.deliver("revision", contracts["revision"])
    suite.decide(contracts["held"], "release")
    suite.kill("governance")
    contracts["checked"] = award_checked(suite, **manifest["checked"])
    suite.kill("work-publisher")
    for name in ("checked", "new"):
        suite.deliver(name, contracts[name])
    for name in CONTINUED:
        check_settled_once(suite, name, contracts[name], total="0.85")
    check_settled_once(suite, "checked", contracts["checked"], total="0.65")
    for name, before in manifest["finished"].items():
        assert without_new_fields(suite.read_contract(contracts[name]), before) == before, name
        if not variables:  # Firestore's new indexes have no entries of older records
            check_found_by_filters(suite, contracts[name])
    assert [each["service"] for each in json.loads(suite.aex("deadletters", "list", "--json"))] == ["settlement"]
    suite.wait_until_audited()
    settled = suite.call(FINANCE, "settlement", "/v1/settlements?limit=200")["items"]
    expected = {contract_id for name, contract_id in contracts.items() if name != "cancelled"}
    assert sorted(each["contract_id"] for each in settled) == sorted(expected)

"""Every route × every role × own and foreign object answers as the table says."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.live import Live
from tests.security.apps import admitting_every_role, all_guards, in_process
from tests.security.conftest import TIMEOUT_S
from tests.security.matrix import ROLES, Matrix, admitted, is_public, read_table
from tests.security.probing import Prober, ask, ask_crossed, over_cookies, over_network
from tests.security.recipes import RECIPES
from tests.security.sides import Side
from tests.security.strangers import Report, use_cursors, use_keys, write_to_foreign_objects

pytestmark = pytest.mark.timeout(TIMEOUT_S)
EXPECTED = read_table()
_OWN_WORDS = re.compile(r"\b(ctr|work|att|hold|req)_[0-9A-Za-z]+")
"""The request's id, and the object's where a page tells what was asked for."""
_ATTEMPT_ID = re.compile(r"\b(att)_[0-9A-Za-z]+")
_OBJECT_ID = re.compile(r"\b(ctr|work|att|hold)_[0-9A-Za-z]+")


@pytest.fixture(scope="session")
def prober(live: Live) -> Prober:
    return Prober(live, over_network(live), Side(live), Side(live))


def test_routes_rows_requests_and_guards_agree(tmp_path: Path) -> None:
    guards = all_guards(tmp_path / ".aex")
    assert {key.route for key in EXPECTED} == set(guards)
    assert {key.recipe for key in EXPECTED} == set(RECIPES)
    for key, cells in EXPECTED.items():
        guard = guards[key.route]
        assert (guard and guard.roles) == (None if is_public(cells) else admitted(cells)), key


@pytest.mark.e2e
def test_every_cell_equals_the_table(prober: Prober) -> None:
    reported = list(prober.departures(EXPECTED))
    assert reported == [], "\n".join(reported)


@pytest.mark.e2e
def test_foreign_object_looks_missing(prober: Prober) -> None:
    compared = 0
    for key, cells in EXPECTED.items():
        for role in (each for each in ROLES if cells[each.value].endswith("/404")):
            token = prober.own_parties.callers[role].token
            crossed = ask_crossed(key, prober.own_parties, prober.foreign, role)
            foreign = crossed or ask(key, prober.foreign, role, own=False)
            named = _ATTEMPT_ID if crossed else _OBJECT_ID
            nowhere = replace(foreign, path=named.sub(r"\1_01890000000070008000000000000000", foreign.path))
            answers = [_OWN_WORDS.sub("", prober.request(key, each, token).text) for each in (foreign, nowhere)]
            assert answers[0] == answers[1], key
            compared += nowhere.path != foreign.path
    assert compared > 10


@pytest.mark.e2e
@pytest.mark.parametrize(("attack", "least"), [(write_to_foreign_objects, 40), (use_cursors, 40), (use_keys, 15)])
def test_attack_by_another_party_fails(prober: Prober, attack: Callable[[Prober, Matrix], Report], least: int) -> None:
    attempts, succeeded = attack(prober, EXPECTED)
    assert succeeded == []
    assert attempts > least


@pytest.mark.e2e
def test_pages_accept_session_and_bearer_token(prober: Prober, live: Live) -> None:
    rows = {key: cells for key, cells in EXPECTED.items() if key.route.path.startswith(("/dashboard", "/review"))}
    assert len(rows) > 20
    assert list(replace(prober, send=over_cookies(live)).departures(rows)) == []


@pytest.mark.e2e
def test_every_removed_guard_is_detected(prober: Prober, live: Live) -> None:
    """Check the checker: let each guard admit every role, and then every caller without a token."""
    unnoticed, removed = [], 0
    with in_process(live.data_dir) as there:
        inside = replace(prober, send=there.send)
        for route, guard in there.guards.items():
            if guard is None:
                continue
            rows = {key: each for key, each in EXPECTED.items() if key.route == route}
            refused = [role.value for role in ROLES if role not in guard.roles][:1]
            assert list(inside.departures(rows, [*refused, "anonymous"])) == []
            with admitting_every_role(guard):
                reported = next(inside.departures(rows, refused), None) if refused else "every role is admitted"
            open_to_all = replace(prober, send=there.without_authentication(guard).send)
            removed += len(refused) + 1
            unnoticed += [route] if None in (reported, next(open_to_all.departures(rows, ["anonymous"]), None)) else []
    assert unnoticed == []
    assert removed > 100

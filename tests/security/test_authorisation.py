"""Every route × every role × own and foreign object answers as the table says."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.live import Live
from tests.security.altered import for_every_role, in_process, without_guard
from tests.security.apps import all_guards
from tests.security.asks import ask, ask_crossed
from tests.security.borrowing import use_of_cursors, use_of_keys
from tests.security.matrix import (
    ROLES,
    TABLE,
    BadTable,
    Route,
    RowKey,
    admitted,
    is_public,
    read_table,
    uncovered,
)
from tests.security.probing import Prober, over_cookies, over_network
from tests.security.recipes import RECIPES
from tests.security.refusing import traces_of_refused_writes
from tests.security.sides import Side

EXPECTED = read_table(TABLE.read_text(encoding="utf-8"))
HOLD = RowKey(Route("governance", "GET", "/v1/holds/{hold_id}"))
_OWN_WORDS = re.compile(r"\b(ctr|work|att|hold|req)_[0-9A-Za-z]+")
"""The request's id, and the object's where a page tells what was asked for."""
_ATTEMPT_ID = re.compile(r"\b(att)_[0-9A-Za-z]+")
_OBJECT_ID = re.compile(r"\b(ctr|work|att|hold)_[0-9A-Za-z]+")


@pytest.fixture(scope="session")
def prober(live: Live) -> Prober:
    return Prober(live, over_network(live), Side(live), Side(live))


def test_routes_rows_requests_and_guards_agree(tmp_path: Path) -> None:
    guards = all_guards(tmp_path / ".aex")
    assert uncovered(EXPECTED, guards) == []
    assert {str(key).partition(" ")[2] for key in EXPECTED} == set(RECIPES)
    for key, cells in EXPECTED.items():
        assert guards[key.route] == (None if is_public(cells) else admitted(cells)), key


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
            answers = [
                _OWN_WORDS.sub("", prober.send(key.route.service, each, each.query, token).text)
                for each in (foreign, nowhere)
            ]
            assert answers[0] == answers[1], key
            compared += nowhere.path != foreign.path
    assert compared > 10


@pytest.mark.e2e
def test_refused_write_changes_nothing(prober: Prober) -> None:
    """An answer of 404 may come after the deed: what is looked at is the object."""
    sent, traces = traces_of_refused_writes(prober, EXPECTED)
    assert traces == []
    assert sent > 40


@pytest.mark.e2e
def test_cursor_works_only_for_its_reader(prober: Prober) -> None:
    lent, taken = use_of_cursors(prober, EXPECTED)
    assert taken == []
    assert lent > 40


@pytest.mark.e2e
def test_idempotency_key_replays_only_for_its_principal(prober: Prober) -> None:
    lent, replayed = use_of_keys(prober, EXPECTED)
    assert replayed == []
    assert lent > 15


@pytest.mark.e2e
def test_pages_accept_session_and_bearer_token(prober: Prober, live: Live) -> None:
    rows = {key: cells for key, cells in EXPECTED.items() if key.route.path.startswith(("/dashboard", "/review"))}
    assert len(rows) > 20
    assert list(replace(prober, send=over_cookies(live)).departures(rows)) == []


@pytest.mark.e2e
def test_every_removed_guard_is_detected(prober: Prober, live: Live) -> None:
    """Check the checker: replace each route's guard by one that admits every role, and by none."""
    guarded = {key.route: cells for key, cells in EXPECTED.items() if not is_public(cells)}
    unnoticed, removed = [], 0
    with in_process(live.data_dir) as there:
        inside = replace(prober, send=there.send)
        for route, cells in guarded.items():
            rows = {key: each for key, each in EXPECTED.items() if key.route == route}
            refused = [role.value for role in ROLES if role not in admitted(cells)]
            for instead, columns in ((for_every_role, refused[:1]), (without_guard, ["anonymous"])):
                assert list(inside.departures(rows, columns)) == []
                with there.without_guard(route, instead):
                    reported = next(inside.departures(rows, columns), None)
                removed += len(columns)
                if columns and reported is None:
                    unnoticed.append(f"{route}: {instead.__name__}")
    assert unnoticed == []
    assert removed > 100


def test_route_without_row_and_row_without_route_are_detected() -> None:
    routes = [key.route for key in EXPECTED]
    new = Route("settlement", "DELETE", "/v1/settlements")
    assert uncovered(EXPECTED, [*routes, new]) == ["no row for settlement DELETE /v1/settlements"]
    assert uncovered(EXPECTED, set(routes) - {HOLD.route}) == ["no route for governance GET /v1/holds/{hold_id}"]


@pytest.mark.parametrize("spoilt", [" 401 |  |", " 401 | 200 |", " 401 | 403/perhaps |"])
def test_invalid_cell_is_refused(spoilt: str) -> None:
    text = TABLE.read_text(encoding="utf-8").replace(" 401 | 403/403 |", spoilt, 1)
    with pytest.raises(BadTable):
        read_table(text)

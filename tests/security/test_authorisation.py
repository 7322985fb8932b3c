"""Every route, every role, one's own and somebody else's object: as the table says, and nothing else."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.live import Live
from tests.security.altered import for_every_role, for_nobody_in_particular, in_process
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
    differences,
    is_public,
    read_table,
    rendered,
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


def test_every_route_has_a_row_and_every_row_a_route(tmp_path: Path) -> None:
    assert uncovered(EXPECTED, all_guards(tmp_path / ".aex")) == []


def test_every_row_has_a_request_and_every_request_a_row() -> None:
    assert {str(key).partition(" ")[2] for key in EXPECTED} == set(RECIPES)


def test_the_declared_guards_admit_the_roles_of_the_table(tmp_path: Path) -> None:
    guards = all_guards(tmp_path / ".aex")
    for key, cells in EXPECTED.items():
        assert guards[key.route] == (None if is_public(cells) else admitted(cells)), key


@pytest.mark.e2e
def test_every_cell_is_as_the_table_says(prober: Prober) -> None:
    found = prober.matrix(EXPECTED)
    print(f"\n{rendered(found)}")  # noqa: T201 shown with -s and on failure
    told = differences(EXPECTED, found)
    assert told == [], "\n".join(told)


@pytest.mark.e2e
def test_somebody_elses_object_answers_as_one_that_does_not_exist(prober: Prober) -> None:
    compared = 0
    for key, cells in EXPECTED.items():
        for role in (each for each in ROLES if cells[each.value].endswith("/404")):
            token = prober.mine.callers[role].token
            crossed = ask_crossed(key, prober.mine, prober.theirs, role)
            theirs = crossed or ask(key, prober.theirs, role, own=False)
            named = _ATTEMPT_ID if crossed else _OBJECT_ID
            nowhere = replace(theirs, path=named.sub(r"\1_01890000000070008000000000000000", theirs.path))
            answers = [
                _OWN_WORDS.sub("", prober.send(key.route.service, each, each.query, token).text)
                for each in (theirs, nowhere)
            ]
            assert answers[0] == answers[1], key
            compared += nowhere.path != theirs.path
    assert compared > 10


@pytest.mark.e2e
def test_a_refused_write_leaves_no_trace(prober: Prober) -> None:
    """An answer of 404 may come after the deed: what is looked at is the object."""
    sent, traces = traces_of_refused_writes(prober, EXPECTED)
    assert traces == []
    assert sent > 40


@pytest.mark.e2e
def test_a_cursor_serves_nobody_but_its_reader(prober: Prober) -> None:
    lent, taken = use_of_cursors(prober, EXPECTED)
    assert taken == []
    assert lent > 40


@pytest.mark.e2e
def test_an_idempotency_key_replays_for_nobody_but_its_principal(prober: Prober) -> None:
    lent, replayed = use_of_keys(prober, EXPECTED)
    assert replayed == []
    assert lent > 15


@pytest.mark.e2e
def test_pages_answer_a_session_as_they_answer_a_bearer_token(prober: Prober, live: Live) -> None:
    rows = {key: cells for key, cells in EXPECTED.items() if key.route.path.startswith(("/dashboard", "/review"))}
    assert len(rows) > 20
    assert list(replace(prober, send=over_cookies(live)).departures(rows)) == []


@pytest.mark.e2e
def test_every_guard_that_is_taken_away_is_noticed(prober: Prober, live: Live) -> None:
    """A check of the checker, on the same data: each route's guard replaced by one that lets every role in, and by
    none at all."""
    guarded = {key.route: cells for key, cells in EXPECTED.items() if not is_public(cells)}
    unnoticed, removed = [], 0
    with in_process(live.data_dir) as there:
        inside = replace(prober, send=there.send)
        for route, cells in guarded.items():
            rows = {key: each for key, each in EXPECTED.items() if key.route == route}
            refused = [role.value for role in ROLES if role not in admitted(cells)]
            for instead, columns in ((for_every_role, refused[:1]), (for_nobody_in_particular, ["anonymous"])):
                assert list(inside.departures(rows, columns)) == []
                with there.without_guard(route, instead):
                    told = next(inside.departures(rows, columns), None)
                removed += len(columns)
                if columns and told is None:
                    unnoticed.append(f"{route}: {instead.__name__}")
    assert unnoticed == []
    assert removed > 100


def test_a_route_without_a_row_and_a_row_without_a_route_are_noticed() -> None:
    routes = [key.route for key in EXPECTED]
    new = Route("settlement", "DELETE", "/v1/settlements")
    assert uncovered(EXPECTED, [*routes, new]) == ["no row for settlement DELETE /v1/settlements"]
    assert uncovered(EXPECTED, set(routes) - {HOLD.route}) == ["no route for governance GET /v1/holds/{hold_id}"]


def test_a_row_that_is_not_probed_is_noticed() -> None:
    found = {key: cells for key, cells in EXPECTED.items() if key != HOLD}
    assert differences(EXPECTED, found) == [f"not probed: {HOLD}"]


@pytest.mark.parametrize("spoilt", [" 401 |  |", " 401 | 200 |", " 401 | 403/perhaps |"])
def test_a_cell_that_nothing_explains_is_refused(spoilt: str) -> None:
    text = TABLE.read_text(encoding="utf-8").replace(" 401 | 403/403 |", spoilt, 1)
    with pytest.raises(BadTable):
        read_table(text)

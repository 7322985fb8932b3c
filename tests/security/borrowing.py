"""Cursors and idempotency keys of other parties: they must be useless."""

import re
from collections.abc import Iterator
from dataclasses import replace

import httpx

from aex_models.audiences import Audience
from tests.e2e.parties import fresh
from tests.security.asks import Ask, ask
from tests.security.matrix import ROLES, Cells, Matrix, RowKey
from tests.security.probing import Prober
from tests.security.sides import namesake

_CURSOR = re.compile(r'(?:"next_cursor":\s*"|[?&;]cursor=)([\w-]{20,})')
_WRITES = {"POST", "PUT"}
_ANSWERED = {"200", "shown"}
_PARTIES = (Audience.CONSUMER, Audience.AGENT)


def use_of_cursors(prober: Prober, expected: Matrix) -> tuple[int, list[str]]:
    """Return how many cursors were used by others with the same query, and where one was accepted."""
    for side in (prober.own_parties, prober.foreign):
        for kind in ("awarded", "settled", "unpaid", "held"):
            side.ids(kind)
    lent, taken = 0, []
    for key, cells in expected.items():
        for role in (each for each in ROLES if cells[each.value].split("/")[0] in _ANSWERED):
            expected_row = _first_of_many(ask(key, prober.own_parties, role, own=True))
            own = prober.own_parties.callers[role].token
            cursor = _cursor_in(prober.send(key.route.service, expected_row, expected_row.query, own))
            if cursor is None:
                continue
            resumed = {**expected_row.query, "cursor": cursor}
            if not prober.send(key.route.service, expected_row, resumed, own).is_success:
                taken.append(f"{key}, {role}: a cursor does not serve its own reader")
            for name, token in _others(prober, key, cells, role):
                lent += 1
                answer = prober.send(key.route.service, expected_row, resumed, token)
                if answer.status_code != httpx.codes.BAD_REQUEST:
                    taken.append(f"{key}, {role}'s cursor, lent to {name}: {answer.status_code}")
    return lent, taken


def _first_of_many(expected_row: Ask) -> Ask:
    return replace(expected_row, query={**expected_row.query, "limit": 1})


def _cursor_in(answer: httpx.Response) -> str | None:
    found = _CURSOR.search(answer.text) if answer.is_success else None
    return found[1] if found else None


def _others(prober: Prober, key: RowKey, cells: Cells, role: Audience) -> Iterator[tuple[str, str]]:
    own, strange = cells[role.value].split("/")
    general = "{" not in key.route.path
    if general or own == strange:
        yield "another of this role", prober.foreign.callers[role].token
    for other in _PARTIES:
        if general and role in _PARTIES and other is not role and cells[other.value].split("/")[0] in _ANSWERED:
            yield f"a {other} of the same name", namesake(prober.live, prober.own_parties, other)


def use_of_keys(prober: Prober, expected: Matrix) -> tuple[int, list[str]]:
    """Return how many idempotency keys were reused by others, and where one replayed."""
    lent, taken = 0, []
    for key, cells in expected.items():
        if key.route.method not in _WRITES:
            continue
        for role in (each for each in ROLES if cells[each.value].startswith(("20", "shown"))):
            expected_row = ask(key, prober.own_parties, role, own=True)
            keyed = replace(expected_row, headers={**expected_row.headers, "Idempotency-Key": fresh("key")})
            own = prober.own_parties.callers[role].token
            answers = [prober.send(key.route.service, keyed, keyed.query, own) for _ in range(2)]
            if expected_row.spends:
                prober.own_parties.use_up(expected_row.spends)
            if "Idempotent-Replayed" not in answers[1].headers:
                continue
            for name, token in _others_of(prober, role):
                lent += 1
                answer = prober.send(key.route.service, keyed, keyed.query, token)
                if "Idempotent-Replayed" in answer.headers:
                    taken.append(f"{key}, {role}'s key, used by {name}: {answer.status_code}, replayed")
    return lent, taken


def _others_of(prober: Prober, role: Audience) -> Iterator[tuple[str, str]]:
    yield "another of this role", prober.foreign.callers[role].token
    if role in _PARTIES:
        yield "a caller with the other party's name", namesake(prober.live, prober.own_parties, role)

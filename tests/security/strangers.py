"""Cursors, idempotency keys and objects in the hands of other parties: they must be useless."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import httpx

from aex_models.audiences import Audience
from tests.e2e.parties import fresh
from tests.security.matrix import ROLES, Cells, Matrix, RowKey
from tests.security.probing import PARTIES, Prober, ask
from tests.security.recipes import RECIPES
from tests.security.sides import Ids, Side, namesake

Report = tuple[int, list[str]]
"""Number of attempts, and those that succeeded."""
_CURSOR = re.compile(r'(?:"next_cursor":\s*"|[?&;]cursor=)([\w-]{20,})')
_WRITES = {"POST", "PUT"}
_ANSWERED = {"200", "shown"}
_REFUSED = ("400", "403", "404")
_SEEN_BY: Mapping[str, tuple[tuple[str, str, Audience], ...]] = {
    "work_id": (("work-publisher", "/v1/work/{work_id}", Audience.CONSUMER),),
    "contract_id": (
        ("verification", "/v1/contracts/{contract_id}", Audience.AGENT),
        ("verification", "/v1/contracts/{contract_id}/attempts", Audience.AGENT),
        ("settlement", "/v1/settlements/{contract_id}", Audience.FINANCE),
    ),
    "hold_id": (("governance", "/v1/holds/{hold_id}", Audience.OPERATOR),),
}
"""Paths at which the owner of an object reads its state."""


def use_cursors(prober: Prober, expected: Matrix) -> Report:
    """Use each cursor as others, with the same query."""
    for side in (prober.own_parties, prober.foreign):
        for kind in ("awarded", "settled", "unpaid", "held"):
            side.ids(kind)
    lent, taken = 0, []
    for key, cells in expected.items():
        for role in (each for each in ROLES if cells[each.value].split("/")[0] in _ANSWERED):
            row = ask(key, prober.own_parties, role, own=True)
            own = prober.own_parties.callers[role].token
            first = replace(row, query={**row.query, "limit": 1})
            answer = prober.request(key, first, own)
            found = _CURSOR.search(answer.text) if answer.is_success else None
            if found is None:
                continue
            resumed = replace(first, query={**first.query, "cursor": found[1]})
            if not prober.request(key, resumed, own).is_success:
                taken.append(f"{key}, {role}: a cursor does not serve its own reader")
            for token in _other_readers(prober, key, cells, role):
                lent += 1
                answer = prober.request(key, resumed, token)
                if answer.status_code != httpx.codes.BAD_REQUEST:
                    taken.append(f"{key}, {role}'s cursor: {answer.status_code}")
    return lent, taken


def _other_readers(prober: Prober, key: RowKey, cells: Cells, role: Audience) -> Iterator[str]:
    own, strange = cells[role.value].split("/")
    general = "{" not in key.route.path
    if general or own == strange:
        yield prober.foreign.callers[role].token
    for other in PARTIES:
        if general and role in PARTIES and other is not role and cells[other.value].split("/")[0] in _ANSWERED:
            yield namesake(prober.live, prober.own_parties, other)


def use_keys(prober: Prober, expected: Matrix) -> Report:
    """Use each idempotency key as others, with the same request."""
    lent, taken = 0, []
    for key, cells in expected.items():
        accepted = [each for each in ROLES if cells[each.value].startswith(("20", "shown"))]
        for role in accepted if key.route.method in _WRITES else ():
            row = ask(key, prober.own_parties, role, own=True)
            keyed = replace(row, headers={**row.headers, "Idempotency-Key": fresh("key")})
            own = prober.own_parties.callers[role].token
            answers = [prober.request(key, keyed, own) for _ in range(2)]
            if row.spends:
                prober.own_parties.use_up(row.spends)
            if "Idempotent-Replayed" not in answers[1].headers:
                continue
            others = [prober.foreign.callers[role].token]
            others += [namesake(prober.live, prober.own_parties, role)] if role in PARTIES else []
            for token in others:
                lent += 1
                answer = prober.request(key, keyed, token)
                if "Idempotent-Replayed" in answer.headers:
                    taken.append(f"{key}, {role}'s key: {answer.status_code}, replayed")
    return lent, taken


def write_to_foreign_objects(prober: Prober, expected: Matrix) -> Report:
    """Send each refused write, and compare its object before and after."""
    sent, traces = 0, []
    for key, cells in expected.items():
        recipe = RECIPES[key.recipe]
        refused = [each for each in ROLES if cells[each.value].rpartition("/")[2] in _REFUSED]
        for role in refused if recipe.spends else ():
            for side, row, token in prober.strangers(key, role):
                ids = side.ids(recipe.strange or recipe.kind)
                before = _state(side, ids)
                answer = prober.request(key, row, token)
                sent += 1
                if answer.is_success or _state(side, ids) != before:
                    traces.append(f"{key}, {role}: {answer.status_code}, and the object has changed")
                    side.use_up(recipe.strange or recipe.kind)
    return sent, traces


def _state(side: Side, ids: Ids) -> list[str]:
    locations = [location for name in ids for location in _SEEN_BY.get(name, ())]
    found = [side.callers[role].get(service, path.format(**ids)) for service, path, role in locations]
    return [each.text if each.is_success else str(each.status_code) for each in found]

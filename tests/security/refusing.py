"""Writes that are refused: the answer says no, and nothing may have happened behind it."""

from collections.abc import Iterator, Mapping

from aex_models.audiences import Audience
from tests.security.asks import Ask, ask
from tests.security.matrix import ROLES, Matrix, RowKey
from tests.security.probing import Prober
from tests.security.recipes import RECIPES
from tests.security.sides import Ids, Side, namesake

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


def traces_of_refused_writes(prober: Prober, expected: Matrix) -> tuple[int, list[str]]:
    """Return how many writes to foreign objects were sent, and which refused ones changed them."""
    sent, traces = 0, []
    for key, cells in expected.items():
        recipe = RECIPES[str(key).partition(" ")[2]]
        if not recipe.spends:
            continue
        for role in (each for each in ROLES if cells[each.value].rpartition("/")[2] in _REFUSED):
            for side, expected_row, token in _strangers(prober, key, role):
                ids = side.ids(recipe.strange or recipe.kind)
                before = _seen(side, ids)
                answer = prober.send(key.route.service, expected_row, expected_row.query, token)
                sent += 1
                if answer.is_success or _seen(side, ids) != before:
                    traces.append(f"{key}, {role}: {answer.status_code}, and the object has changed")
                    side.use_up(recipe.strange or recipe.kind)
    return sent, traces


def _strangers(prober: Prober, key: RowKey, role: Audience) -> Iterator[tuple[Side, Ask, str]]:
    yield prober.foreign, ask(key, prober.foreign, role, own=False), prober.own_parties.callers[role].token
    if role in {Audience.CONSUMER, Audience.AGENT}:
        yield (
            prober.own_parties,
            ask(key, prober.own_parties, role, own=False),
            namesake(prober.live, prober.own_parties, role),
        )


def _seen(side: Side, ids: Ids) -> list[str]:
    locations = [location for name in ids for location in _SEEN_BY.get(name, ())]
    found = [side.callers[role].get(service, path.format(**ids)) for service, path, role in locations]
    return [each.text if each.is_success else str(each.status_code) for each in found]

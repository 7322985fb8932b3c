"""The requests that the recipes come to, about one's own object, somebody else's, or both at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aex_models.audiences import Audience
from aex_runtime.pages.assets import Assets
from tests.security.matrix import RowKey
from tests.security.recipes import RECIPES, Recipe
from tests.security.sides import Ids, Side


@dataclass(frozen=True, slots=True)
class Ask:
    """One request."""

    method: str
    path: str
    query: Mapping[str, Any]
    body: Any
    shows: str | None
    spends: str | None
    headers: Mapping[str, str] = field(default_factory=dict)
    page: str = ""


def ask(row: RowKey, side: Side, role: Audience, *, own: bool) -> Ask:
    """The row's request about an object of the side, from a caller in the role."""
    recipe = RECIPES[_name(row)]
    kind = recipe.kind if own else recipe.strange or recipe.kind
    return _asked(row, recipe, {**side.ids(kind), **_names(side, role, row.variant)}, kind)


def ask_crossed(row: RowKey, mine: Side, theirs: Side, role: Audience) -> Ask | None:
    """The row's request about one's own object, with something of somebody else's; None for a row that has no such."""
    recipe = RECIPES[_name(row)]
    if not recipe.crossed:
        return None
    ids = {**mine.ids(recipe.kind), **_names(mine, role, row.variant)}
    strange = theirs.ids(recipe.kind)
    return _asked(row, recipe, {**ids, **{name: strange[name] for name in recipe.crossed}}, recipe.kind)


def _asked(row: RowKey, recipe: Recipe, ids: Ids, kind: str) -> Ask:
    query = {name: value.format(**ids) if isinstance(value, str) else value for name, value in recipe.query.items()}
    return Ask(
        row.route.method,
        row.route.path.replace(":path", "").format(**ids),
        query,
        recipe.body(ids),
        ids[recipe.shows] if recipe.shows else None,
        kind if recipe.spends else None,
        recipe.headers,
        recipe.page.format(**ids),
    )


def _names(side: Side, role: Audience, variant: str) -> Mapping[str, str]:
    party = role if role is Audience.AGENT else Audience.CONSUMER
    name = side.callers[party].id
    account = "platform:fees" if variant == "platform" else f"{party.value}:{name}"
    agent, consumer = side.callers[Audience.AGENT].id, side.callers[Audience.CONSUMER].id
    digest, file = _style_sheet() if variant == "file" else ("0" * 16, "none.css")
    return {
        "party": name,
        "account_id": account,
        "agent_id": agent,
        "consumer_id": consumer,
        "digest": digest,
        "name": file,
        "rest": "no/such/page",
    }


def _style_sheet() -> tuple[str, str]:
    """Where a file that all pages load is, below `static/`."""
    _, digest, name = Assets("", ("aex_runtime.pages",)).url("pages.css").split("/")
    return digest, name


def _name(row: RowKey) -> str:
    return str(row).partition(" ")[2]

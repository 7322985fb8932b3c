"""Requests made from the recipes, about an own object, a foreign one, or both."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aex_models.audiences import Audience
from aex_runtime.pages.site import Assets
from tests.security.matrix import RowKey
from tests.security.recipes import RECIPES, Recipe
from tests.security.sides import Ids, Side


@dataclass(frozen=True, slots=True)
class Ask:
    """A request."""

    method: str
    path: str
    query: Mapping[str, Any]
    body: Any
    shows: str | None
    spends: str | None
    headers: Mapping[str, str] = field(default_factory=dict)
    page: str = ""


def ask(row: RowKey, side: Side, role: Audience, *, own: bool) -> Ask:
    recipe = RECIPES[_name(row)]
    kind = recipe.kind if own else recipe.strange or recipe.kind
    return _request_of(row, recipe, {**side.ids(kind), **_names(side, role, row.variant)}, kind)


def ask_crossed(row: RowKey, owner: Side, foreign: Side, role: Audience) -> Ask | None:
    """Return the row's request about an own object with a foreign part, or None."""
    recipe = RECIPES[_name(row)]
    if not recipe.crossed:
        return None
    ids = {**owner.ids(recipe.kind), **_names(owner, role, row.variant)}
    strange = foreign.ids(recipe.kind)
    return _request_of(row, recipe, {**ids, **{name: strange[name] for name in recipe.crossed}}, recipe.kind)


def _request_of(row: RowKey, recipe: Recipe, ids: Ids, kind: str) -> Ask:
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
    digest, file = _css_file() if variant == "file" else ("0" * 16, "none.css")
    return {
        "party": name,
        "account_id": account,
        "agent_id": agent,
        "consumer_id": consumer,
        "digest": digest,
        "name": file,
        "rest": "no/such/page",
    }


def _css_file() -> tuple[str, str]:
    """Return the path of a file below `static/` that all pages load."""
    _, digest, name = Assets("", ("aex_runtime.pages",)).url("pages.css").split("/")
    return digest, name


def _name(row: RowKey) -> str:
    return str(row).partition(" ")[2]

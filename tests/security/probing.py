"""Requests of the matrix, made from the recipes, and their answers in the words of the table."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from aex_models.audiences import Audience
from aex_models.events import SERVICES
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from aex_runtime.pages.site import Assets
from tests.e2e.live import Live
from tests.e2e.pages import parsed
from tests.e2e.parties import fresh
from tests.security.matrix import COLUMNS, FORGED, ROLES, SIGN_IN, Cells, Matrix, RowKey, admitted
from tests.security.recipes import RECIPES, Recipe
from tests.security.sides import Ids, Side, namesake

_MAX_PAGES = 50
_SIGN_IN_PATH = "/sign-in"
_FORGED = "the form was not sent from a page of this service"
PARTIES = (Audience.CONSUMER, Audience.AGENT)


@dataclass(frozen=True, slots=True)
class Ask:
    """A request, with the expected part of its answer and the kind of object that a success uses up."""

    method: str
    path: str
    query: Mapping[str, Any]
    body: Any
    shows: str | None
    spends: str | None
    headers: Mapping[str, str]
    page: str


Send = Callable[[str, Ask, Mapping[str, Any], str | None], httpx.Response]
"""Service, request, query, token → the answer."""


def ask(row: RowKey, side: Side, role: Audience, *, own: bool) -> Ask:
    recipe = RECIPES[row.recipe]
    kind = recipe.kind if own else recipe.strange or recipe.kind
    return _request_of(row, recipe, {**side.ids(kind), **_names(side, role, row.variant)}, kind)


def ask_crossed(row: RowKey, owner: Side, foreign: Side, role: Audience) -> Ask | None:
    """Return the row's request about an own object with a foreign part, or None."""
    recipe = RECIPES[row.recipe]
    if not recipe.crossed:
        return None
    strange = {name: foreign.ids(recipe.kind)[name] for name in recipe.crossed}
    ids = {**owner.ids(recipe.kind), **_names(owner, role, row.variant), **strange}
    return _request_of(row, recipe, ids, recipe.kind)


def _request_of(row: RowKey, recipe: Recipe, ids: Ids, kind: str) -> Ask:
    return Ask(
        row.route.method,
        row.route.path.replace(":path", "").format(**ids),
        {name: value.format(**ids) if isinstance(value, str) else value for name, value in recipe.query.items()},
        recipe.body(ids),
        ids[recipe.shows] if recipe.shows else None,
        kind if recipe.spends else None,
        {**recipe.headers, **({"Idempotency-Key": fresh("key")} if recipe.keyed else {})},
        recipe.page.format(**ids),
    )


def _names(side: Side, role: Audience, variant: str) -> Ids:
    party = role if role is Audience.AGENT else Audience.CONSUMER
    name = side.callers[party].id
    digest, file = "0" * 16, "none.css"
    if variant == "file":  # one that all pages load
        _, digest, file = Assets("", ("aex_runtime.pages",)).url("pages.css").split("/")
    return {
        "party": name,
        "account_id": "platform:fees" if variant == "platform" else f"{party.value}:{name}",
        "agent_id": side.callers[Audience.AGENT].id,
        "consumer_id": side.callers[Audience.CONSUMER].id,
        "digest": digest,
        "name": file,
        "rest": "no/such/page",
    }


@dataclass(frozen=True, slots=True)
class Prober:
    """Two sides on a running suite, and how requests reach it."""

    live: Live
    send: Send
    own_parties: Side
    foreign: Side

    def departures(self, expected: Matrix, columns: Iterable[str] = COLUMNS) -> Iterator[str]:
        """Return the cells that differ from the expected ones; unlisted cells are not requested."""
        for column in columns:
            for key, cells in expected.items():
                found = self._cell(key, cells, column)
                if found != cells[column]:
                    yield f"{key}, {column}: expected {cells[column]}, got {found}"

    def request(self, key: RowKey, expected_row: Ask, token: str | None) -> httpx.Response:
        return self.send(key.route.service, expected_row, expected_row.query, token)

    def _cell(self, key: RowKey, cells: Cells, column: str) -> str:
        if column in ROLES:
            return self._party_cell(key, Audience(column), cells[column].endswith("/-"))
        welcome = min(admitted(cells), key=ROLES.index)
        token = None if column == "anonymous" else self._foreign(key.route.service, welcome)
        return self._seen(key, ask(key, self.own_parties, welcome, own=True), token)

    def _party_cell(self, key: RowKey, role: Audience, alone: bool) -> str:
        token = self.own_parties.callers[role].token
        strange = "-" if alone else self._strange(key, role, token)  # first: success may use the object up
        return f"{self._seen(key, ask(key, self.own_parties, role, own=True), token)}/{strange}"

    def _strange(self, key: RowKey, role: Audience, token: str) -> str:
        """Request objects of another party and of a namesake; return both answers if they differ."""
        crossed = ask_crossed(key, self.own_parties, self.foreign, role)
        if crossed is not None:
            return self._seen(key, crossed, token)
        return "≠".join(dict.fromkeys(self._seen(key, row, other) for _, row, other in self.strangers(key, role)))

    def strangers(self, key: RowKey, role: Audience) -> Iterator[tuple[Side, Ask, str]]:
        """Yield requests about another side's object, with that side and the stranger's token."""
        yield self.foreign, ask(key, self.foreign, role, own=False), self.own_parties.callers[role].token
        if role in PARTIES:
            token = namesake(self.live, self.own_parties, role)
            yield self.own_parties, ask(key, self.own_parties, role, own=False), token

    def _seen(self, key: RowKey, expected_row: Ask, token: str | None) -> str:
        answer = self.request(key, expected_row, token)
        if answer.has_redirect_location and answer.headers["location"].partition("?")[0].endswith(_SIGN_IN_PATH):
            return SIGN_IN
        if not answer.is_success:
            return FORGED if _FORGED in answer.text else str(answer.status_code)
        if expected_row.spends:
            for side in (self.own_parties, self.foreign):
                side.use_up(expected_row.spends)
        if expected_row.shows is None:
            return str(answer.status_code)
        return "shown" if self._is_listed(key, expected_row, expected_row.shows, token, answer) else "hidden"

    def _is_listed(self, key: RowKey, expected_row: Ask, shows: str, token: str | None, answer: httpx.Response) -> bool:
        for _ in range(_MAX_PAGES):
            if shows in answer.text:
                return True
            is_page = answer.headers["content-type"] == "application/json"  # a file has no further pages
            cursor = answer.json().get("next_cursor") if is_page else None
            if cursor is None:
                return False
            answer = self.send(key.route.service, expected_row, {**expected_row.query, "cursor": cursor}, token)
        raise AssertionError(f"{key}: no end of pages")

    def _foreign(self, service: str, role: Audience) -> str:
        issuer = LocalIssuer(load_or_create_key(self.live.data_dir), WallClock(), RandomIds())
        others = [each for each in SERVICES if each != service]
        return issuer.mint(self.own_parties.callers[role].id, role, audiences=others)


def over_network(live: Live) -> Send:
    def send(service: str, expected_row: Ask, query: Mapping[str, Any], token: str | None) -> httpx.Response:
        base, credential, page = live.url(service, ""), bearer(token), None
        if expected_row.page:
            page = live.http.get(base + expected_row.page, headers={**expected_row.headers, **credential}).text
        return live.http.send(request_of(live.http.build_request, expected_row, base, query, credential, page))

    return send


def over_cookies(live: Live) -> Send:
    """Return a way to the services' pages as a browser has it: the token is in the session's cookie."""
    through = over_network(live)

    def send(service: str, expected_row: Ask, query: Mapping[str, Any], token: str | None) -> httpx.Response:
        cookie = {} if token is None else {"Cookie": f"aex_{service}_session={token}"}
        return through(service, replace(expected_row, headers={**expected_row.headers, **cookie}), query, None)

    return send


def request_of(
    build: Callable[..., httpx.Request],
    expected_row: Ask,
    base: str,
    query: Mapping[str, Any],
    credential: Mapping[str, str],
    page: str | None,
) -> httpx.Request:
    """Return the request as it goes out; with `page`, the form on it filled in."""
    headers = {**expected_row.headers, **credential}
    url = f"{base}{expected_row.path}"
    if page is None:
        return build(expected_row.method, url, params=dict(query), json=expected_row.body, headers=headers)
    form = parsed(page).hidden | expected_row.body
    return build(expected_row.method, url, data=form, headers={**headers, "Origin": base})


def bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}

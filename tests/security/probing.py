"""Sends the matrix's requests and writes down what comes back, in the words of the table."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from aex_models.audiences import Audience
from aex_models.events import SERVICES
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_key import local_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from tests.e2e.live import Live
from tests.e2e.pages import parsed
from tests.security.asks import Ask, ask, ask_crossed
from tests.security.matrix import COLUMNS, FORGED, ROLES, SIGN_IN, Cells, Matrix, RowKey, admitted
from tests.security.sides import Side, namesake

Send = Callable[[str, Ask, Mapping[str, Any], str | None], httpx.Response]
"""Service, request, query, token → the answer."""
_MAX_PAGES = 50
_SIGN_IN_PATH = "/sign-in"
_FORGED = "the form was not sent from a page of this service"


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
                found = self.cell(key, cells, column)
                if found != cells[column]:
                    yield f"{key}, {column}: expected {cells[column]}, got {found}"

    def cell(self, key: RowKey, cells: Cells, column: str) -> str:
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
        seen = [self._seen(key, ask(key, self.foreign, role, own=False), token)]
        if role in {Audience.CONSUMER, Audience.AGENT}:
            impostor = namesake(self.live, self.own_parties, role)
            seen.append(self._seen(key, ask(key, self.own_parties, role, own=False), impostor))
        return "≠".join(dict.fromkeys(seen))

    def _seen(self, key: RowKey, expected_row: Ask, token: str | None) -> str:
        answer = self.send(key.route.service, expected_row, expected_row.query, token)
        if answer.has_redirect_location and answer.headers["location"].partition("?")[0].endswith(_SIGN_IN_PATH):
            return SIGN_IN
        if not answer.is_success:
            return FORGED if _FORGED in answer.text else str(answer.status_code)
        if expected_row.spends:
            for side in (self.own_parties, self.foreign):
                side.use_up(expected_row.spends)
        if expected_row.shows is None:
            return str(answer.status_code)
        return "shown" if self._is_listed(key, expected_row, token, answer) else "hidden"

    def _is_listed(self, key: RowKey, expected_row: Ask, token: str | None, answer: httpx.Response) -> bool:
        for _ in range(_MAX_PAGES):
            if expected_row.shows is not None and expected_row.shows in answer.text:
                return True
            cursor = answer.json().get("next_cursor") if _is_page(answer) else None
            if cursor is None:
                return False
            answer = self.send(key.route.service, expected_row, {**expected_row.query, "cursor": cursor}, token)
        raise AssertionError(f"{key}: no end of pages")

    def _foreign(self, service: str, role: Audience) -> str:
        issuer = LocalIssuer(local_key(self.live.data_dir), WallClock(), RandomIds())
        others = [each for each in SERVICES if each != service]
        return issuer.mint(self.own_parties.callers[role].id, role, audiences=others)


def over_network(live: Live) -> Send:
    def send(service: str, expected_row: Ask, query: Mapping[str, Any], token: str | None) -> httpx.Response:
        base = live.url(service, "")
        credential = bearer(token)
        page = (
            live.http.get(base + expected_row.page, headers={**expected_row.headers, **credential}).text
            if expected_row.page
            else None
        )
        request = request_of(live.http.build_request, expected_row, base, query, credential, page)
        return live.http.send(request)

    return send


def over_cookies(live: Live) -> Send:
    """To the services' pages, signed in: the token is in the session's cookie, as a browser sends it."""
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
    """The request as it goes out; with `page`, the form on it filled in."""
    headers = {**expected_row.headers, **credential}
    url = f"{base}{expected_row.path}"
    if page is None:
        return build(expected_row.method, url, params=dict(query), json=expected_row.body, headers=headers)
    return build(
        expected_row.method, url, data=parsed(page).hidden | expected_row.body, headers={**headers, "Origin": base}
    )


def _is_page(answer: httpx.Response) -> bool:
    """Return whether the answer may have further pages; a file has none."""
    return answer.headers["content-type"] == "application/json"


def bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}

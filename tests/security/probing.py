"""Sends the matrix's requests and writes down what comes back, in the words of the table."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from aex_models.audiences import Audience
from aex_models.events import SERVICES
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import local_key
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
    mine: Side
    theirs: Side

    def matrix(self, expected: Matrix) -> Matrix:
        """What each row's requests are answered with. Of `expected` only what is asked, never the answer."""
        return {key: {column: self.cell(key, cells, column) for column in COLUMNS} for key, cells in expected.items()}

    def departures(self, expected: Matrix, columns: Iterable[str] = COLUMNS) -> Iterator[str]:
        """The cells that are not as expected, one after the other: nothing is asked that nobody wants to know."""
        for column in columns:
            for key, cells in expected.items():
                found = self.cell(key, cells, column)
                if found != cells[column]:
                    yield f"{key}, {column}: expected {cells[column]}, got {found}"

    def cell(self, key: RowKey, cells: Cells, column: str) -> str:
        """What one caller is answered."""
        if column in ROLES:
            return self._party_cell(key, Audience(column), cells[column].endswith("/-"))
        welcome = min(admitted(cells), key=ROLES.index)
        token = None if column == "anonymous" else self._foreign(key.route.service, welcome)
        return self._seen(key, ask(key, self.mine, welcome, own=True), token)

    def _party_cell(self, key: RowKey, role: Audience, alone: bool) -> str:
        token = self.mine.callers[role].token
        strange = "-" if alone else self._strange(key, role, token)  # first: success may use the object up
        return f"{self._seen(key, ask(key, self.mine, role, own=True), token)}/{strange}"

    def _strange(self, key: RowKey, role: Audience, token: str) -> str:
        """Another party's object, and one of a party whose name the caller bears; both answers where they differ."""
        crossed = ask_crossed(key, self.mine, self.theirs, role)
        if crossed is not None:
            return self._seen(key, crossed, token)
        seen = [self._seen(key, ask(key, self.theirs, role, own=False), token)]
        if role in {Audience.CONSUMER, Audience.AGENT}:
            impostor = namesake(self.live, self.mine, role)
            seen.append(self._seen(key, ask(key, self.mine, role, own=False), impostor))
        return "≠".join(dict.fromkeys(seen))

    def _seen(self, key: RowKey, wanted: Ask, token: str | None) -> str:
        answer = self.send(key.route.service, wanted, wanted.query, token)
        if answer.has_redirect_location and answer.headers["location"].partition("?")[0].endswith(_SIGN_IN_PATH):
            return SIGN_IN
        if not answer.is_success:
            return FORGED if _FORGED in answer.text else str(answer.status_code)
        if wanted.spends:
            for side in (self.mine, self.theirs):
                side.use_up(wanted.spends)
        if wanted.shows is None:
            return str(answer.status_code)
        return "shown" if self._shown(key, wanted, token, answer) else "hidden"

    def _shown(self, key: RowKey, wanted: Ask, token: str | None, answer: httpx.Response) -> bool:
        for _ in range(_MAX_PAGES):
            if wanted.shows is not None and wanted.shows in answer.text:
                return True
            cursor = answer.json().get("next_cursor") if _is_page(answer) else None
            if cursor is None:
                return False
            answer = self.send(key.route.service, wanted, {**wanted.query, "cursor": cursor}, token)
        raise AssertionError(f"{key}: no end of pages")

    def _foreign(self, service: str, role: Audience) -> str:
        """A good token of one who is let in, made for the other services."""
        issuer = LocalIssuer(local_key(self.live.data_dir), WallClock(), RandomIds())
        others = [each for each in SERVICES if each != service]
        return issuer.mint(self.mine.callers[role].id, role, audiences=others)


def over_network(live: Live) -> Send:
    """To the services' ports."""

    def send(service: str, wanted: Ask, query: Mapping[str, Any], token: str | None) -> httpx.Response:
        base = live.url(service, "")
        credential = bearer(token)
        page = live.http.get(base + wanted.page, headers={**wanted.headers, **credential}).text if wanted.page else None
        request = request_of(live.http.build_request, wanted, base, query, credential, page)
        return live.http.send(request)

    return send


def over_cookies(live: Live) -> Send:
    """To the services' pages, signed in: the token is in the session's cookie, as a browser sends it."""
    through = over_network(live)

    def send(service: str, wanted: Ask, query: Mapping[str, Any], token: str | None) -> httpx.Response:
        cookie = {} if token is None else {"Cookie": f"aex_{service}_session={token}"}
        return through(service, replace(wanted, headers={**wanted.headers, **cookie}), query, None)

    return send


def request_of(
    build: Callable[..., httpx.Request],
    wanted: Ask,
    base: str,
    query: Mapping[str, Any],
    credential: Mapping[str, str],
    page: str | None,
) -> httpx.Request:
    """The request as it goes out; with `page`, the form on it filled in."""
    headers = {**wanted.headers, **credential}
    url = f"{base}{wanted.path}"
    if page is None:
        return build(wanted.method, url, params=dict(query), json=wanted.body, headers=headers)
    return build(wanted.method, url, data=parsed(page).hidden | wanted.body, headers={**headers, "Origin": base})


def _is_page(answer: httpx.Response) -> bool:
    """Whether there may be more of it; a file comes whole."""
    return answer.headers["content-type"] == "application/json"


def bearer(token: str | None) -> dict[str, str]:
    """The header that carries a token."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}

"""Sends the matrix's requests and writes down what comes back, in the words of the table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from aex_models.audiences import Audience
from aex_models.events import SERVICES
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import local_key
from aex_runtime.ids import RandomIds
from tests.e2e.live import Live
from tests.security.matrix import FORGED, ROLES, Cells, Matrix, RowKey, admitted
from tests.security.recipes import Ask, ask
from tests.security.sides import Side, namesake

Send = Callable[[str, Ask, Mapping[str, Any], str | None], httpx.Response]
"""Service, request, query, token → the answer."""
_MAX_PAGES = 50
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
        return {key: self._row(key, cells) for key, cells in expected.items()}

    def _row(self, key: RowKey, cells: Cells) -> Cells:
        welcome = min(admitted(cells), key=ROLES.index)
        own = ask(key, self.mine, welcome, own=True)
        return {
            "anonymous": self._seen(key, own, None),
            "foreign": self._seen(key, own, self._foreign(key.route.service, welcome)),
            **{role.value: self._party_cell(key, role, cells[role.value].endswith("/-")) for role in ROLES},
        }

    def _party_cell(self, key: RowKey, role: Audience, alone: bool) -> str:
        token = self.mine.callers[role].token
        strange = "-" if alone else self._strange(key, role, token)  # first: success may use the object up
        return f"{self._seen(key, ask(key, self.mine, role, own=True), token)}/{strange}"

    def _strange(self, key: RowKey, role: Audience, token: str) -> str:
        """Another party's object, and one of a party whose name the caller bears; both answers where they differ."""
        seen = [self._seen(key, ask(key, self.theirs, role, own=False), token)]
        if role in {Audience.CONSUMER, Audience.AGENT}:
            impostor = namesake(self.live, self.mine, role)
            seen.append(self._seen(key, ask(key, self.mine, role, own=False), impostor))
        return "≠".join(dict.fromkeys(seen))

    def _seen(self, key: RowKey, wanted: Ask, token: str | None) -> str:
        answer = self.send(key.route.service, wanted, wanted.query, token)
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
        url = live.url(service, wanted.path)
        return live.http.request(wanted.method, url, params=dict(query), json=wanted.body, headers=bearer(token))

    return send


def _is_page(answer: httpx.Response) -> bool:
    """Whether there may be more of it; a file comes whole."""
    return answer.headers["content-type"] == "application/json"


def bearer(token: str | None) -> dict[str, str]:
    """The header that carries a token."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}

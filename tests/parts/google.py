"""Stub of Google's metadata server: it returns ID tokens of one account, and their public keys."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt

from aex_models.events import SERVICES
from tests.libs.runtime.identity.issuing import Signer, signer, write_jwks

PATH = "/computeMetadata/v1/instance/service-accounts/default/identity"
ACCOUNTS = {service: f"aex-{service}@my-project.iam.gserviceaccount.com" for service in SERVICES}
LIFETIME_S = 3_600


@dataclass(frozen=True, slots=True)
class CannedResponse:
    status: int = 200
    body: bytes = b""
    location: str | None = None


@dataclass
class GoogleStub:
    """The state of the stub: the audiences requested so far, and canned responses to return first."""

    keys: Signer
    jwks: Path
    account: str = ACCOUNTS["verification"]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    host: str = ""
    audiences: list[str] = field(default_factory=list)
    canned: list[CannedResponse] = field(default_factory=list)
    """Each is said once, before the next token is given; the last for ever where `stubborn`."""
    repeats_last: bool = False
    answering: threading.Event = field(default_factory=threading.Event)
    """Cleared: nothing is answered."""
    request_received: threading.Event = field(default_factory=threading.Event)
    """Set by the first request."""

    def sign_id_token(self, audience: str, **claims: Any) -> str:
        """Return a signed ID token like Google's. Keyword arguments replace claims; None leaves a claim out."""
        issued = int(self.now().timestamp())
        all_claims = {
            "iss": "https://accounts.google.com",
            "aud": audience,
            "azp": "106784563219",
            "sub": "106784563219",
            "email": self.account,
            "email_verified": True,
            "iat": issued,
            "exp": issued + LIFETIME_S,
            **claims,
        }
        present = {name: value for name, value in all_claims.items() if value is not None}
        return jwt.encode(present, self.keys.private, "RS256", headers={"kid": self.keys.kid, "typ": "JWT"})

    def answer(self, path: str, flavor: str | None) -> CannedResponse:
        parts = urlsplit(path)
        query = parse_qs(parts.query)
        audience = query.get("audience", [""])[0]
        self.audiences.append(audience)
        self.request_received.set()
        self.answering.wait()
        if self.canned:
            return self.canned[0] if self.repeats_last else self.canned.pop(0)
        if parts.path != PATH or flavor != "Google" or not audience:
            return CannedResponse(403)
        full = query.get("format") == ["full"]
        changes = {} if full else {"email": None, "email_verified": None}
        return CannedResponse(body=self.sign_id_token(audience, **changes).encode())


@cache
def _keys() -> Signer:
    return signer("RS256", "g1")


@contextmanager
def run_google_stub(folder: Path, **changes: Any) -> Iterator[GoogleStub]:
    keys = _keys()
    google = GoogleStub(keys, write_jwks(folder / "google.jwks.json", keys), **changes)
    google.answering.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            response = google.answer(self.path, self.headers["Metadata-Flavor"])
            self.send_response(response.status)
            if response.location is not None:
                self.send_header("Location", response.location)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            try:
                self.wfile.write(response.body)
            except ConnectionError:
                self.close_connection = True  # the client has read enough

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False
        google.host = f"127.0.0.1:{server.server_port}"
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            yield google
        finally:
            google.answering.set()
            server.shutdown()
            serving.join()

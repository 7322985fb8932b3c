"""Google in miniature: a metadata server that gives ID tokens of one account, and the public keys that go with them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt

from aex_models.events import SERVICES
from tests.libs.runtime.identity.issuing import Signer, signer, write_jwks

PATH = "/computeMetadata/v1/instance/service-accounts/default/identity"
ACCOUNTS = {service: f"aex-{service}@my-project.iam.gserviceaccount.com" for service in SERVICES}
LASTS_S = 3_600


@dataclass(frozen=True, slots=True)
class Said:
    """An answer in the place of a token."""

    status: int = 200
    body: bytes = b""
    location: str | None = None


@dataclass
class Google:
    """What it is asked, and what a test has it say."""

    keys: Signer
    jwks: Path
    account: str = ACCOUNTS["verification"]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    host: str = ""
    asked: list[str] = field(default_factory=list)
    """The audiences, in the order that they were asked for."""
    says: list[Said] = field(default_factory=list)
    """Each is said once, before the next token is given; the last for ever where `stubborn`."""
    stubborn: bool = False
    speaking: threading.Event = field(default_factory=threading.Event)
    """Cleared: nothing is answered."""
    heard: threading.Event = field(default_factory=threading.Event)
    """Set by the first question."""

    def id_token(self, audience: str, **claims: Any) -> str:
        """A token as Google signs them; a claim set to None is left out."""
        issued = int(self.now().timestamp())
        whole = {
            "iss": "https://accounts.google.com",
            "aud": audience,
            "azp": "106784563219",
            "sub": "106784563219",
            "email": self.account,
            "email_verified": True,
            "iat": issued,
            "exp": issued + LASTS_S,
            **claims,
        }
        said = {name: value for name, value in whole.items() if value is not None}
        return jwt.encode(said, self.keys.private, "RS256", headers={"kid": self.keys.kid, "typ": "JWT"})

    def answer(self, path: str, flavor: str | None) -> Said:
        """What a GET is answered with."""
        parts = urlsplit(path)
        query = parse_qs(parts.query)
        audience = query.get("audience", [""])[0]
        self.asked.append(audience)
        self.heard.set()
        self.speaking.wait()
        if self.says:
            return self.says[0] if self.stubborn else self.says.pop(0)
        if parts.path != PATH or flavor != "Google" or not audience:
            return Said(403)
        full = query.get("format") == ["full"]
        return Said(body=self.id_token(audience, **({} if full else {"email": None, "email_verified": None})).encode())


@contextmanager
def google_in(folder: Path, **changes: Any) -> Iterator[Google]:
    """It listens while this is entered; its public keys are a file in `folder`."""
    keys = signer("RS256", "g1")
    google = Google(keys, write_jwks(folder / "google.jwks.json", keys), **changes)
    google.speaking.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = google.answer(self.path, self.headers["Metadata-Flavor"])
            self.send_response(said.status)
            if said.location is not None:
                self.send_header("Location", said.location)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            try:
                self.wfile.write(said.body)
            except ConnectionError:
                self.close_connection = True  # whoever asked has heard enough

        def log_message(self, *_: object) -> None:
            """Nothing: the tests look at `asked`."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False
        google.host = f"127.0.0.1:{server.server_port}"
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            yield google
        finally:
            google.speaking.set()
            server.shutdown()
            serving.join()

"""Spans to Google Cloud, by OTLP over HTTP, as whoever the process runs as. The roles: Cloud
Telemetry Traces Writer and, as a project to bill is named, Service Usage Consumer."""

from datetime import datetime

import google.auth
from google.auth.credentials import Credentials
from google.auth.transport.requests import AuthorizedSession, Request
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

from aex_runtime.tracing.otlp import TIMEOUT_S

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def google_cloud(url: str, project: str | None) -> OTLPSpanExporter:
    """To Google's endpoint at `url`. `project` is billed for it; None: whom the credentials belong to."""
    headers = {"x-goog-user-project": project} if project else None
    session = AuthorizedSession(FoundLater())  # type: ignore[no-untyped-call]
    return OTLPSpanExporter(endpoint=url, timeout=TIMEOUT_S, headers=headers, session=session)


class FoundLater(Credentials):
    """The default credentials, looked for when the first span goes out: that may take seconds, and a start may not."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._found: Credentials | None = None
        self.token: str | None = None
        self.expiry: datetime | None = None

    def refresh(self, request: Request) -> None:
        """A new token. Raises `DefaultCredentialsError` where there are no credentials, `RefreshError`."""
        if self._found is None:
            self._found, _ = google.auth.default(scopes=[_SCOPE], request=request)
        self._found.refresh(request)  # type: ignore[no-untyped-call]
        self.token, self.expiry = self._found.token, self._found.expiry

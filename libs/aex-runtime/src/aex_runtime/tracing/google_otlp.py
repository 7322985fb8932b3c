"""OTLP over HTTP: spans to a collector, or to Google Cloud under the process's account.

Google's roles are Cloud Telemetry Traces Writer and, for the billed project, Service Usage Consumer.
"""

from datetime import datetime

import google.auth
from google.auth.credentials import Credentials
from google.auth.transport.requests import AuthorizedSession, Request
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

TIMEOUT_S = 10.0
"""For a batch, with the exporter's own retries, which back off with jitter."""
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def collector(url: str) -> OTLPSpanExporter:
    """Return an exporter to any collector, with OpenTelemetry's own variables (`OTEL_EXPORTER_…`)."""
    return OTLPSpanExporter(endpoint=url, timeout=TIMEOUT_S)


def google_cloud(url: str, project: str | None) -> OTLPSpanExporter:
    """Return an exporter to Google. `project` is billed; None: that of the credentials."""
    headers = {"x-goog-user-project": project} if project else None
    session = AuthorizedSession(LazyCredentials())  # type: ignore[no-untyped-call]
    return OTLPSpanExporter(endpoint=url, timeout=TIMEOUT_S, headers=headers, session=session)


class LazyCredentials(Credentials):
    """Default credentials, resolved with the first span: that may take seconds."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._found: Credentials | None = None
        self.token: str | None = None
        self.expiry: datetime | None = None

    def refresh(self, request: Request) -> None:
        """Get a new token. Raises `DefaultCredentialsError` without credentials, `RefreshError`."""
        if self._found is None:
            self._found, _ = google.auth.default(scopes=[_SCOPE], request=request)
        self._found.refresh(request)  # type: ignore[no-untyped-call]
        self.token, self.expiry = self._found.token, self._found.expiry

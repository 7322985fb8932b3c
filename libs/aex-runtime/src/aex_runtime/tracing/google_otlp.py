"""Span exporters by OTLP over HTTP: to any collector, or to Google Cloud.

On Google Cloud the process's account needs two roles: Cloud Telemetry Traces Writer, and Service Usage Consumer of the
billed project.
"""

from datetime import datetime

import google.auth
from google.auth.credentials import Credentials
from google.auth.transport.requests import AuthorizedSession, Request
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

TIMEOUT_S = 10.0
"""For a batch with the exporter's own retries."""
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def collector_exporter(url: str) -> OTLPSpanExporter:
    """Return an exporter to a collector; OpenTelemetry's variables `OTEL_EXPORTER_…` apply."""
    return OTLPSpanExporter(endpoint=url, timeout=TIMEOUT_S)


def google_cloud_exporter(url: str, project: str | None) -> OTLPSpanExporter:
    """Return an exporter to Google Cloud under the process's account.

    `project` is billed; None: the project of the credentials.
    """
    headers = {"x-goog-user-project": project} if project else None
    session = AuthorizedSession(LazyCredentials())  # type: ignore[no-untyped-call]
    return OTLPSpanExporter(endpoint=url, timeout=TIMEOUT_S, headers=headers, session=session)


class LazyCredentials(Credentials):
    """Google's default credentials, which are resolved when the first spans are sent: it may take seconds."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._found: Credentials | None = None
        self.token: str | None = None
        self.expiry: datetime | None = None

    def refresh(self, request: Request) -> None:
        """Get a new token. Raises `DefaultCredentialsError` without credentials, and `RefreshError`."""
        if self._found is None:
            self._found, _ = google.auth.default(scopes=[_SCOPE], request=request)
        self._found.refresh(request)  # type: ignore[no-untyped-call]
        self.token, self.expiry = self._found.token, self._found.expiry

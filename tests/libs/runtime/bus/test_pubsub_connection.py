import pytest
from google.api_core import exceptions
from structlog.testing import capture_logs

from aex_runtime.bus.port import BusUnavailable
from aex_runtime.bus.pubsub import PubSubBus
from aex_runtime.bus.pubsub_connection import Clients, PubSubConnection, translate_error
from aex_runtime.ids import SeededIds
from tests.bus.messages import outgoing

SECRET = "canary-7f3a"
CLOSED_PORT = "127.0.0.1:9"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (exceptions.NotFound, "create the topics and subscriptions"),
        (exceptions.PermissionDenied, "grant the service's account"),
        (exceptions.Unauthenticated, "credentials are not accepted"),
        (exceptions.ServiceUnavailable, "UNAVAILABLE"),
        (exceptions.FailedPrecondition, "FAILED_PRECONDITION"),
    ],
)
def test_outage_names_its_fix(kind: type[exceptions.GoogleAPICallError], text: str) -> None:
    failure = translate_error("work.checked", kind(SECRET))
    assert isinstance(failure, BusUnavailable)
    assert str(failure).startswith("work.checked: ")
    assert text in str(failure)
    assert SECRET not in str(failure)


def test_invalid_request_is_no_outage() -> None:
    failure = translate_error("work.checked", exceptions.InvalidArgument(SECRET))  # type: ignore[no-untyped-call]
    assert not isinstance(failure, BusUnavailable)
    assert SECRET not in str(failure)


async def test_transient_failure_is_retried_and_logged() -> None:
    connection = PubSubConnection("p", CLOSED_PORT, {}, SeededIds(1), deadline_s=1.5)

    async def answer(_: Clients, __: float) -> str:
        return "answered"

    with capture_logs() as logs, pytest.raises(BusUnavailable, match=r"work\.checked: "):
        await connection.call_with_retries("work.checked", answer)
    assert {entry["event"] for entry in logs} == {"bus_call_retried"}
    assert len(logs) >= 2
    await connection.close()


async def test_missing_credentials_are_an_outage_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/key.json")
    bus = PubSubBus("a-project")
    for call in (bus.ping(), bus.publish([outgoing("a")])):
        with pytest.raises(BusUnavailable, match="run the service under an account of its own"):
            await call
    await bus.close()

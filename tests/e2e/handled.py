"""Waiting for subscribers to log that they handled an event."""

from aex_models.events import TOPICS
from tests.e2e.jobs import eventually
from tests.e2e.live import Live

_ENDS = ("event_handled", "dead_letter")


def until_handled(live: Live, topic: str, event_id: str, times: int = 1) -> None:
    """Wait until each subscriber has handled the event that often, or made it a dead letter.

    The suite must log at level debug.
    """

    def look() -> bool | None:
        return True if all(_ends(live, service, event_id) >= times for service in TOPICS[topic].subscribers) else None

    eventually(look, what=f"the end of {topic} {event_id}")


def _ends(live: Live, service: str, event_id: str) -> int:
    return sum(line["event"] in _ENDS and line.get("event_id") == event_id for line in live.log(service))

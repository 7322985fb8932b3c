"""What a consumer measures of the topics that it handles."""

from collections.abc import Iterable

from aex_runtime.measures import LONG_S, CounterSpec, HistogramSpec, Spec

HANDLED, RETRIED, WAITING, DEAD = RESULTS = ("handled", "retried", "waiting", "dead_letter")
"""What a delivery can come to. `retried`: it failed and is counted; `waiting`: for an outage, uncounted."""


class EventMeasures:
    """Of one service, whose topics are its labels: what it does not subscribe to is `other`."""

    def __init__(self, topics: Iterable[str]) -> None:
        of_topic = {"topic": tuple(sorted(topics))}
        self.deliveries = CounterSpec(
            "aex_event_deliveries_total",
            "Deliveries of events, by what became of them",
            {**of_topic, "result": RESULTS},
        )
        self.age = HistogramSpec(
            "aex_event_age_seconds", "From an event's commit until it was handled", of_topic, LONG_S
        )
        self.handling = HistogramSpec("aex_event_handling_seconds", "In the handler that dealt with an event", of_topic)

    def specs(self) -> tuple[Spec, ...]:
        """All of them."""
        return self.deliveries, self.age, self.handling

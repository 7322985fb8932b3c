"""Generator of `pubsub.json`, which Terraform reads: `python -m deploy.write_topology`."""

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from aex_models.events import TOPICS, Topic
from aex_runtime.bus.pubsub_topology import (
    DEAD_LETTERS,
    SubscriptionSpec,
    all_topic_ids,
    publishing_services,
    readiness_topic,
    subscription_specs,
)

FILE = Path(__file__).with_name("pubsub.json")


def list_topology(topics: Mapping[str, Topic] = TOPICS) -> dict[str, Any]:
    """Return topics with publishers, subscriptions with consumers, and names that need own rights."""
    return {
        "topics": {
            name: list(publishing_services(topics[name])) if name in topics else [] for name in all_topic_ids(topics)
        },
        "subscriptions": {spec.id: _settings(spec) for spec in subscription_specs(topics)},
        "dead_letters": DEAD_LETTERS,
        "probed_topic": readiness_topic(topics),
    }


def build_file_text() -> str:
    """Return the text of `pubsub.json`."""
    return json.dumps(list_topology(), indent=2) + "\n"


def _settings(spec: SubscriptionSpec) -> dict[str, Any]:
    return {
        "topic": spec.topic,
        "service": spec.service,
        "ack_deadline_seconds": _seconds(spec.ack_deadline),
        "message_retention_duration": f"{_seconds(spec.retention)}s",
        "dead_letter_topic": spec.dead_letter_topic,
        "max_delivery_attempts": spec.max_delivery_attempts if spec.dead_letter_topic else None,
    }


def _seconds(duration: timedelta) -> int:
    return int(duration.total_seconds())


if __name__ == "__main__":
    FILE.write_text(build_file_text())

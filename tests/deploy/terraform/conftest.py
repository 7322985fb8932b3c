"""The committed configuration, and what Terraform makes of it with the values that have no default."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.deploy.terraform.configuration import TERRAFORM, VALUES, Configuration, evaluate, read, texts

ASKED = (
    "accounts",
    "asked_outside",
    "buckets",
    "bucket_of",
    "blob_areas",
    "collector_config",
    "consumers",
    "databases",
    "environment",
    "events_lifetime_s",
    "default_events_lifetime_s",
    "default_max_connections",
    "fields",
    "figure_alarms",
    "file_readers",
    "fixed_settings",
    "indexes",
    "key_folder",
    "key_name",
    "line_alarms",
    "offered_settings",
    "publishers",
    "pubsub",
    "probe_alarms",
    "probes",
    "repeated_line_alarms",
    "anchors",
    "secret_environment",
    "severities",
    "sizes",
    "telling_roles",
    "urls",
)


@pytest.fixture(scope="session")
def configuration() -> Configuration:
    return read(texts())


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The locals by their names."""
    if TERRAFORM is None:
        pytest.skip("terraform is not on the PATH")
    asked = "{" + ", ".join(f"{name} = local.{name}" for name in ASKED) + "}"
    found: Mapping[str, Any] = evaluate(tmp_path_factory.mktemp("terraform"), asked, VALUES)
    return found

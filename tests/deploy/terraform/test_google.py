"""What Google has rules of its own for: paths that it keeps, processor time, rights that a request needs, and APIs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from aex_cli.suite.service_spec import MODULES
from tests.deploy.declared import HEALTH, READINESS, SERVICES
from tests.deploy.terraform.arguments import PREFIXES
from tests.deploy.terraform.configuration import Block, Configuration
from tests.deploy.terraform.references import names_of

KEPT_BY_GOOGLE = {"/eventlog", HEALTH}
"""Paths of a service on Cloud Run that its front end answers itself: https://cloud.google.com/run/docs/known-issues."""
MOST_PROCESSORS, MOST_MEMORY_MIB = 8, 32 * 1024
"""Of an instance, for all its containers."""
SWITCHED_ON = "google_project_service.this"
ALWAYS_THERE = {"data.google_project.this", "ephemeral.tls_private_key.signing", SWITCHED_ON}


@pytest.mark.parametrize("service", SERVICES)
def test_what_is_asked_from_outside_reaches_the_service_and_needs_no_token(
    evaluated: Mapping[str, Any], service: str, tmp_path: Path
) -> None:
    asked = evaluated["asked_outside"]
    assert set(asked) == {HEALTH, READINESS}
    assert not set(asked.values()) & KEPT_BY_GOOGLE
    settings = import_module(f"{MODULES[service]}.settings").Settings(data_dir=tmp_path / ".aex")
    with TestClient(import_module(f"{MODULES[service]}.main").create_app(settings)) as client:
        assert {path: client.get(path).status_code for path in asked.values()} == dict.fromkeys(asked.values(), 200)


def test_uptime_checks_ask_these_paths(configuration: Configuration) -> None:
    (check,) = [each for each in made(configuration) if each.labels[0] == "google_monitoring_uptime_check_config"]
    assert check.body["http_check"][0]["path"] == "${local.asked_outside[each.value.path]}"


def test_all_containers_of_an_instance_have_processor_time_and_fit_into_one(
    configuration: Configuration, evaluated: Mapping[str, Any]
) -> None:
    (service,) = [each for each in made(configuration) if each.labels[0] == "google_cloud_run_v2_service"]
    containers = service.body["template"][0]["containers"]
    assert [str(each["resources"][0]["cpu_idle"]) for each in containers] == ["False", "False"]
    beside = containers[1]["resources"][0]["limits"]
    for size in evaluated["sizes"].values():
        assert int(size["cpu"]) + int(beside["cpu"].strip('"')) <= MOST_PROCESSORS
        memory = int(size["memory"].removesuffix("Gi")) * 1024 + int(beside["memory"].strip('"').removesuffix("Mi"))
        assert memory <= MOST_MEMORY_MIB


def test_a_service_may_tell_what_it_does_and_name_the_project_that_is_billed_for_it(
    evaluated: Mapping[str, Any],
) -> None:
    # The exporter of spans names one (`x-goog-user-project`): that needs a right beside that to write spans.
    assert set(evaluated["telling_roles"]) == {
        "roles/logging.logWriter",
        "roles/monitoring.metricWriter",
        "roles/serviceusage.serviceUsageConsumer",
        "roles/telemetry.tracesWriter",
    }


def test_nothing_is_made_before_its_api_is_switched_on(configuration: Configuration) -> None:
    assert too_early(configuration) == []


@pytest.mark.parametrize("address", ["google_monitoring_alert_policy.line", "google_storage_bucket.this"])
def test_what_waits_for_no_api_would_be_found(configuration: Configuration, address: str) -> None:
    blocks = [
        replace(block, body={**block.body, "depends_on": []}) if block.address == address else block
        for block in configuration.blocks
    ]
    assert address in too_early(replace(configuration, blocks=tuple(blocks)))


def made(configuration: Configuration) -> list[Block]:
    return [block for block in configuration.blocks if block.kind in PREFIXES]


def too_early(configuration: Configuration) -> list[str]:
    """The resources that nothing makes wait for the APIs."""
    needs = {block.address: names_of(json.dumps(block.body)) for block in made(configuration)}
    for block in configuration.of("locals"):
        needs |= {f"local.{name}": names_of(json.dumps(value)) for name, value in block.body.items()}
    return sorted(block.address for block in made(configuration) if not waits(block.address, needs))


def waits(address: str, needs: Mapping[str, set[str]]) -> bool:
    """Whether the APIs are among what it needs, or among what that needs."""
    return address in ALWAYS_THERE or SWITCHED_ON in set(_reached(address, needs))


def _reached(address: str, needs: Mapping[str, set[str]]) -> Iterator[str]:
    seen, open_ = set[str](), [address]
    while open_:
        at = open_.pop()
        if at not in seen:
            seen.add(at)
            yield at
            open_ += needs.get(at, set())

"""Terraform gives the services settings that they have, and offers all others but those that have no place there."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from aex_verification.settings import Settings as VerificationSettings
from aex_work_publisher.repository import DATA_AREA, EVALUATION_AREA
from tests.deploy.declared import (
    HEALTH,
    READINESS,
    SERVICES,
    declared,
    differences,
    misdirected,
    settings_of,
    url_variable,
)
from tests.deploy.terraform.configuration import PROJECT_NUMBER, VALUES, Configuration

LEFT_OUT = {
    "AEX_DATA_DIR": "with the three URLs and the key nothing is kept on a disk",
    "AEX_GOOGLE_JWKS": "Google's own address answers on Google Cloud",
    "AEX_INSTANCE": "no instance of Cloud Run has a name that its successor will have",
    "AEX_PARENT_FD": "Cloud Run is nobody's parent process",
    "FIRESTORE_EMULATOR_HOST": "Firestore itself is there",
    "GCE_METADATA_HOST": "the metadata server is where it always is",
    "PUBSUB_EMULATOR_HOST": "Pub/Sub itself is there",
    "STORAGE_EMULATOR_HOST": "Cloud Storage itself is there",
}
OF_FILES = {"AEX_OUTCOME_CONFIG", "AEX_RULES_CONFIG"}
"""Given where the variable names a file."""


def given(evaluated: Mapping[str, Any], configuration: Configuration) -> dict[str, set[str]]:
    """Service → what it is given or may be given."""
    readers = {"AEX_OUTCOME_CONFIG": {"verification", "work-publisher"}, "AEX_RULES_CONFIG": {"governance"}}
    text = configuration.texts["files.tf"]
    assert {name for name in OF_FILES if f'"{name}"' in text} == OF_FILES
    secret = set(re.findall(r"AEX_\w+(?= = var)", configuration.texts["settings.tf"])) & {"AEX_REVIEW_API_KEY"}
    offered = evaluated["offered_settings"]
    return {
        service: {
            *evaluated["fixed_settings"][service],
            *offered["every"],
            *offered[service],
            *(name for name, services in readers.items() if service in services),
            *(secret if service == "verification" else ()),
        }
        for service in SERVICES
    }


def test_every_setting_is_fixed_offered_or_left_out_for_a_reason(
    evaluated: Mapping[str, Any], configuration: Configuration
) -> None:
    assert differences("Terraform", given(evaluated, configuration), declared(), LEFT_OUT) == []


@pytest.mark.parametrize(("service", "name"), [(service, name) for service, own in declared().items() for name in own])
def test_a_setting_that_has_another_name_in_the_code_would_be_found(
    evaluated: Mapping[str, Any], configuration: Configuration, service: str, name: str
) -> None:
    settings = {each: set(own) for each, own in declared().items()}
    settings[service] = settings[service] - {name} | {f"{name}_X"}
    assert differences("Terraform", given(evaluated, configuration), settings, LEFT_OUT) != []


@pytest.mark.parametrize("service", SERVICES)
def test_a_setting_that_has_another_name_in_terraform_would_be_found(
    evaluated: Mapping[str, Any], configuration: Configuration, service: str
) -> None:
    named = given(evaluated, configuration)
    for name in named[service]:
        changed = {**named, service: named[service] - {name} | {f"{name}_X"}}
        assert len(differences("Terraform", changed, declared(), LEFT_OUT)) >= 2


def test_every_service_starts_with_what_it_is_given(
    evaluated: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for service, environment in evaluated["environment"].items():
        with monkeypatch.context() as shell:
            for name, value in environment.items():
                shell.setenv(name, value)
            settings = settings_of(service)()
        assert not settings.uses_data_dir()
        assert settings.google_project_of() == VALUES["project_id"]
        assert settings.port_of(service) == 8080
        assert settings.service_tokens == "google"
        assert settings.service_accounts == evaluated["accounts"]


def test_each_service_runs_as_the_account_that_the_others_know_it_by(
    evaluated: Mapping[str, Any], configuration: Configuration
) -> None:
    domain = f"{VALUES['project_id']}.iam.gserviceaccount.com"
    assert evaluated["accounts"] == {service: f"aex-{service}@{domain}" for service in SERVICES}
    (service,) = [block for block in configuration.of("resource") if block.labels[0] == "google_cloud_run_v2_service"]
    account = service.body["template"][0]["service_account"]
    assert account == "${google_service_account.service[each.value].email}"


def test_the_services_find_each_other(evaluated: Mapping[str, Any]) -> None:
    addresses = {service: f"https://aex-{service}-{PROJECT_NUMBER}.{VALUES['region']}.run.app" for service in SERVICES}
    assert evaluated["urls"] == addresses
    assert misdirected("Terraform", evaluated["environment"], addresses) == []
    swapped = {**addresses, "governance": addresses["settlement"]}
    assert misdirected("Terraform", evaluated["environment"], swapped) != []
    assert {url_variable(service) for service in SERVICES} <= set(evaluated["environment"]["settlement"])


def test_no_two_services_share_a_database_and_only_two_share_evaluation_data(evaluated: Mapping[str, Any]) -> None:
    environment = evaluated["environment"]
    assert len({own["AEX_STORE_URL"] for own in environment.values()}) == len(SERVICES)
    bucket = environment["work-publisher"]["AEX_BLOBS_URL"]
    assert {service for service, own in environment.items() if own["AEX_BLOBS_URL"] == bucket} == {
        "work-publisher",
        "verification",
    }
    assert {EVALUATION_AREA, DATA_AREA} <= set(evaluated["blob_areas"])


def test_the_services_own_defaults_are_written_down_as_they_are(evaluated: Mapping[str, Any]) -> None:
    fields = VerificationSettings.model_fields
    assert evaluated["default_events_lifetime_s"] == fields["events_lifetime_s"].default
    assert evaluated["default_max_connections"] == fields["max_connections"].default
    assert all(size["concurrency"] < fields["max_connections"].default for size in evaluated["sizes"].values())


def test_verification_has_room_for_its_workers_and_its_waits(evaluated: Mapping[str, Any]) -> None:
    settings, size = VerificationSettings.model_construct(), evaluated["sizes"]["verification"]
    workers = settings.workers + settings.sandbox_workers + settings.science_workers + settings.verifier_workers
    assert int(size["memory"].removesuffix("Gi")) * 1024 > workers * settings.worker_memory_mb + 4 * 1024
    assert size["concurrency"] > settings.max_streams


def test_probes_ask_for_health_and_readiness_on_the_port_that_is_listened_on(configuration: Configuration) -> None:
    (service,) = [block for block in configuration.of("resource") if block.labels[0] == "google_cloud_run_v2_service"]
    container = service.body["template"][0]["containers"][0]
    asked = {kind: container[kind][0]["http_get"][0] for kind in ("startup_probe", "liveness_probe")}
    assert {kind: probe["path"].strip('"') for kind, probe in asked.items()} == {
        "startup_probe": READINESS,
        "liveness_probe": HEALTH,
    }
    assert {probe["port"] for probe in asked.values()} == {"${local.port}"} == {container["ports"][0]["container_port"]}
    assert container["resources"][0]["cpu_idle"] is False or container["resources"][0]["cpu_idle"] == "${false}"

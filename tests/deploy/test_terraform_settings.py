"""Terraform sets or offers every setting of the services, and its pages name only what exists."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from aex_runtime.google_logs import google_log_processor
from aex_verification.settings import Settings as VerificationSettings
from tests.deploy.alarm_guide import list_log_calls
from tests.deploy.documents import PAGES, find_names, known_variables
from tests.deploy.terraform import FOLDER, PROJECT_NUMBER, TEXTS, VALUES, load_resources
from tests.parts.settings_table import (
    HEALTH,
    READINESS,
    SERVICES,
    compare_services,
    create_app,
    find_wrong_urls,
    load_settings_class,
    load_settings_table,
)

TABLE = load_settings_table()
RESOURCES = load_resources()
LEFT_OUT = {
    "AEX_DATA_DIR": "the three URLs and the key leave nothing on a disk",
    "AEX_GOOGLE_JWKS": "Google's own address is reachable on Google Cloud",
    "AEX_INSTANCE": "no instance of Cloud Run keeps its name over a restart",
    "AEX_MIN_FREE_BYTES": "it is of the data directory's disk",
    "AEX_PARENT_FD": "Cloud Run has no parent process with a pipe",
    "FIRESTORE_EMULATOR_HOST": "Firestore itself is there",
    "GCE_METADATA_HOST": "the metadata server has its standard address",
    "PUBSUB_EMULATOR_HOST": "Pub/Sub itself is there",
    "STORAGE_EMULATOR_HOST": "Cloud Storage itself is there",
}
KEPT_BY_GOOGLE = {"/eventlog", HEALTH}
"""Paths that Cloud Run's front end answers itself: https://cloud.google.com/run/docs/known-issues."""


@pytest.fixture(scope="module")
def given(evaluated: Mapping[str, Any]) -> dict[str, set[str]]:
    """The settings that Terraform sets or offers, by service."""
    of_files = re.findall(r'setting  = "(\w+)"\n *services = \[(.*)\]', TEXTS["files.tf"])
    of_secrets = set(re.findall(r"(AEX_\w+) = var\.", TEXTS["settings.tf"])) & {"AEX_REVIEW_API_KEY"}
    offered = evaluated["offered_settings"]
    return {
        service: {
            *evaluated["fixed_settings"][service],
            *offered["every"],
            *offered[service],
            *(name for name, services in of_files if f'"{service}"' in services),
            *(of_secrets if service == "verification" else ()),
        }
        for service in SERVICES
    }


def test_every_setting_is_fixed_offered_or_left_out_for_a_reason(given: Mapping[str, set[str]]) -> None:
    assert compare_services("Terraform", given, TABLE, LEFT_OUT) == []


@pytest.mark.parametrize(
    "path", [*sorted(FOLDER.glob("*.tf")), FOLDER / "terraform.tfvars.example"], ids=lambda path: path.name
)
def test_file_names_known_settings(path: Path) -> None:
    assert find_names(path.read_text(encoding="utf-8")) - known_variables(TABLE) == set()


def test_every_service_reads_its_environment(evaluated: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for service, environment in evaluated["environment"].items():
        with monkeypatch.context() as shell:
            for name, value in environment.items():
                shell.setenv(name, value)
            settings = load_settings_class(service)()
        assert not settings.uses_data_dir()
        assert settings.effective_google_project() == VALUES["project_id"]
        assert (settings.effective_port(service), settings.service_tokens) == (8080, "google")
        assert settings.service_accounts == evaluated["accounts"]
        assert environment["AEX_KEY_FILE"] == f"{evaluated['key_folder']}/{evaluated['key_name']}"


def test_services_know_each_others_accounts_and_urls(evaluated: Mapping[str, Any]) -> None:
    domain = f"{VALUES['project_id']}.iam.gserviceaccount.com"
    assert evaluated["accounts"] == {service: f"aex-{service}@{domain}" for service in SERVICES}
    (template,) = RESOURCES["google_cloud_run_v2_service.this"]["template"]
    assert template["service_account"] == "${google_service_account.service[each.value].email}"
    urls = {service: f"https://aex-{service}-{PROJECT_NUMBER}.{VALUES['region']}.run.app" for service in SERVICES}
    assert evaluated["urls"] == urls
    assert find_wrong_urls("Terraform", evaluated["environment"], urls) == []


def test_copied_defaults_equal_the_services_own(evaluated: Mapping[str, Any]) -> None:
    fields = VerificationSettings.model_fields
    assert evaluated["default_events_lifetime_s"] == fields["events_lifetime_s"].default
    assert evaluated["default_max_connections"] == fields["max_connections"].default
    assert all(size["concurrency"] < fields["max_connections"].default for size in evaluated["sizes"].values())


def test_sizes_fit_the_workers_and_the_limits_of_an_instance(evaluated: Mapping[str, Any]) -> None:
    settings, size = VerificationSettings.model_construct(), evaluated["sizes"]["verification"]
    workers = settings.workers + settings.sandbox_workers + settings.science_workers + settings.verifier_workers
    assert int(size["memory"].removesuffix("Gi")) * 1024 > workers * settings.worker_memory_mb + 4 * 1024
    assert size["concurrency"] > settings.max_streams
    (template,) = RESOURCES["google_cloud_run_v2_service.this"]["template"]
    resources = [each["resources"][0] for each in template["containers"]]
    assert [each["cpu_idle"] for each in resources] == [False, False]
    collector = {name: value.strip('"') for name, value in resources[1]["limits"].items()}
    for each in evaluated["sizes"].values():  # Cloud Run allows 8 processors and 32 GiB
        assert int(each["cpu"]) + int(collector["cpu"]) <= 8
        assert int(each["memory"].removesuffix("Gi")) * 1024 + int(collector["memory"].removesuffix("Mi")) <= 32 * 1024


def test_probes_and_collector_request_existing_paths_and_the_port(evaluated: Mapping[str, Any]) -> None:
    (template,) = RESOURCES["google_cloud_run_v2_service.this"]["template"]
    container = template["containers"][0]
    probes = {kind: container[kind][0]["http_get"][0] for kind in ("startup_probe", "liveness_probe")}
    assert [probe["path"].strip('"') for probe in probes.values()] == [READINESS, HEALTH]
    assert (
        {probe["port"] for probe in probes.values()} == {"${local.port}"} == {container["ports"][0]["container_port"]}
    )
    (endpoint,) = evaluated["collector_config"]["spec"]["endpoints"]
    assert (endpoint["path"], endpoint["port"]) == ("/metrics", evaluated["port"])


@pytest.mark.parametrize("service", SERVICES)
def test_uptime_checks_reach_the_service_without_a_token(
    evaluated: Mapping[str, Any], service: str, tmp_path: Path
) -> None:
    paths = evaluated["uptime_paths"]
    assert set(paths) == {HEALTH, READINESS}
    assert not set(paths.values()) & KEPT_BY_GOOGLE
    check = RESOURCES["google_monitoring_uptime_check_config.this"]["http_check"][0]
    assert check["path"] == "${local.uptime_paths[each.value.path]}"
    with TestClient(create_app(service, load_settings_class(service)(data_dir=tmp_path / ".aex"))) as client:
        assert {client.get(path).status_code for path in paths.values()} == {200}


def test_log_filters_select_logged_fields_and_events() -> None:
    text = "\n".join(TEXTS.values())
    line = {"event": "part_not_ready", "level": "warning", "service": "settlement", "part": "store"}
    entry = google_log_processor("p", "1")(None, "warning", line)
    assert isinstance(entry, Mapping)
    assert set(re.findall(r"jsonPayload\.(\w+)", text)) - set(entry) == {"gauge"}
    assert set(re.findall(r"EXTRACT\(labels\.(\w+)\)", text)) == set(entry["logging.googleapis.com/labels"])
    named = set(re.findall(r'jsonPayload\.event=\\"(\w+)\\"', text))
    assert named == {"gauge_unreadable"} <= {call.event for call in list_log_calls()}


def test_pages_and_example_name_existing_variables_outputs_topics_and_areas(evaluated: Mapping[str, Any]) -> None:
    variables, outputs = (
        set(re.findall(rf'^{kind} "(\w+)"', "\n".join(TEXTS.values()), re.MULTILINE)) for kind in ("variable", "output")
    )
    guide, example = ((FOLDER / name).read_text(encoding="utf-8") for name in ("README.md", "terraform.tfvars.example"))
    assert set(re.findall(r"`([a-z]+(?:_[a-z]+)+)\b", guide)) <= variables
    assert set(re.findall(r"^(?:# )?([a-z_]+) +=", example, re.MULTILINE)) <= variables
    assert sorted(re.findall(r"^for service in (.+); do$", guide, re.MULTILINE)[0].split()) == sorted(SERVICES)
    assert RESOURCES["google_secret_manager_secret.signing_key"]["secret_id"] == '"${var.name}-signing-key"'
    assert set(re.findall(r"--secret=(\S+)", guide)) == {"aex-signing-key"}
    known = {*evaluated["pubsub"]["topics"], *evaluated["pubsub"]["subscriptions"], "aex.verifiers", "aex.commands"}
    first = "|".join(sorted({name.partition(".")[0] for name in known}))
    for path in (path for path in PAGES if "deploy" in path.parts):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"terraform output (?:-json )?([a-z_]+)", text)) <= outputs
        assert set(re.findall(rf"`((?:{first})\.[a-z.-]+)`", text)) <= known, path
        assert set(re.findall(r"`([a-z]+)/staging/`", text)) in (set(), set(evaluated["blob_areas"])), path

"""A name that stands in two places stands there alike: mounts, paths, log fields, Google's own words, the guides."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from aex_runtime.google_logs import google_entry
from tests.deploy.alarms import SOURCES, all_log_calls
from tests.deploy.cross_check import ROOT, known_variables
from tests.deploy.declared import SERVICES, declared
from tests.deploy.naming import names_in
from tests.deploy.terraform.configuration import FOLDER, Block, Configuration

GUIDE = (FOLDER / "README.md").read_text(encoding="utf-8")
VALUES = (FOLDER / "terraform.tfvars.example").read_text(encoding="utf-8")
PAGES = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "deploy").glob("**/*.md"))}
OF_GOOGLE = {
    "cloud_run_revision",
    "gcp-sa-pubsub.iam.gserviceaccount.com",
    "metric.labels.check_id",
    "monitoring.googleapis.com/uptime_check/check_passed",
    "pubsub.googleapis.com/subscription/num_undelivered_messages",
    "pubsub.googleapis.com/subscription/oldest_unacked_message_age",
    "pubsub_subscription",
    "resource.label.host",
    "resource.labels.service_name",
    "resource.labels.subscription_id",
    "uptime_url",
}
"""Metrics, labels, kinds of resources and an account, as Google's documentation has them."""
APIS = {"cloudtrace", "firestore", "iam", "logging", "monitoring", "pubsub", "run", "secretmanager", "storage"}
WORD = re.compile(
    r"(?:monitoring|pubsub)\.googleapis\.com/[a-z_]{3,}/[a-z_]+|(?:resource|metric)\.labels?\.[a-z_]+"
    r"|(?<=resource\.type=\\\")[a-z_]+|gcp-sa-[a-z]+\.[a-z.]+"
)


@pytest.fixture
def template(configuration: Configuration) -> Mapping[str, Any]:
    (service,) = [each for each in configuration.of("resource") if each.labels[0] == "google_cloud_run_v2_service"]
    found: Mapping[str, Any] = service.body["template"][0]
    return found


def content(block: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Of its `dynamic` blocks of a kind the only one."""
    ((found,),) = [each[f'"{kind}"']["content"] for each in block["dynamic"] if f'"{kind}"' in each]
    return dict(found)


def test_every_mount_has_its_volume_and_every_file_the_name_that_is_asked_for(template: Mapping[str, Any]) -> None:
    service, collector = template["containers"]
    mounts = {each["name"]: each["mount_path"] for each in (*service["volume_mounts"], *collector["volume_mounts"])}
    files = {each["name"]: each["secret"][0]["items"][0]["path"] for each in template["volumes"]}
    # What the collector reads is its own image's: https://cloud.google.com/stackdriver/docs/managed-prometheus/cloudrun-sidecar
    assert mounts == {'"signing-key"': "${local.key_folder}", '"collector"': '"/etc/rungmp"'}
    assert files == {'"signing-key"': "${local.key_name}", '"collector"': '"config.yaml"'}
    mounted, kept = content(service, "volume_mounts"), content(template, "volumes")
    assert mounted["name"].replace("volume_mounts.", "volumes.") == kept["name"]
    assert mounted["mount_path"] == '"${local.config_folder}/${volume_mounts.key}"'
    assert kept["secret"][0]["items"][0]["path"] == "${volumes.value.name}"
    assert collector["depends_on"] == [service["name"]]


def test_the_key_is_asked_for_where_it_is_mounted(evaluated: Mapping[str, Any]) -> None:
    place = f"{evaluated['key_folder']}/{evaluated['key_name']}"
    assert {own["AEX_KEY_FILE"] for own in evaluated["fixed_settings"].values()} == {place}


def test_the_collector_asks_every_service_for_its_figures(evaluated: Mapping[str, Any]) -> None:
    (endpoint,) = evaluated["collector_config"]["spec"]["endpoints"]
    assert (endpoint["path"], endpoint["port"]) == ("/metrics", 8080)
    assert {own["AEX_PORT"] for own in evaluated["fixed_settings"].values()} == {"8080"}


@pytest.mark.parametrize("file", [*sorted(path.name for path in FOLDER.glob("*.tf")), "terraform.tfvars.example"])
def test_a_file_names_settings_that_there_are(file: str) -> None:
    assert names_in((FOLDER / file).read_text(encoding="utf-8")) - known_variables(declared()) == set()


def test_a_service_is_kept_to_its_own_database(configuration: Configuration) -> None:
    (records,) = [each for each in configuration.of("resource") if each.address == "google_project_iam_member.records"]
    expression = records.body["condition"][0]["expression"]
    assert expression == r'"resource.name == \"projects/${var.project_id}/databases/${each.value}\""'


def test_filters_ask_for_fields_and_lines_that_are_logged(configuration: Configuration) -> None:
    text = "\n".join(configuration.texts.values())
    line = {"event": "part_not_ready", "level": "warning", "service": "settlement", "part": "store"}
    entry = google_entry("p", "1")(None, "warning", line)
    assert isinstance(entry, Mapping)
    known = {*entry, *("gauge" for path in SOURCES if '"gauge_unreadable", gauge=' in path.read_text(encoding="utf-8"))}
    assert set(re.findall(r"jsonPayload\.(\w+)", text)) == {"event", "part", "gauge"} <= known
    assert set(re.findall(r"EXTRACT\(labels\.(\w+)\)", text)) == set(entry["logging.googleapis.com/labels"])
    named = set(re.findall(r'jsonPayload\.event=\\"(\w+)\\"', text))
    assert named == {"gauge_unreadable"} <= {call.event for call in all_log_calls()}


def test_what_is_google_s_has_the_names_that_google_gave_it(configuration: Configuration) -> None:
    assert {word for text in configuration.texts.values() for word in WORD.findall(text)} == OF_GOOGLE
    (switched,) = [each for each in configuration.of("resource") if each.labels[0] == "google_project_service"]
    assert set(re.findall(r"([a-z]+)\.googleapis\.com", switched.body["for_each"])) == {*APIS, "telemetry"}


def test_the_example_of_values_names_variables(configuration: Configuration) -> None:
    known = {block.labels[0] for block in configuration.of("variable")}
    assert set(re.findall(r"^(?:# )?([a-z_]+) +=", VALUES, re.MULTILINE)) <= known


def test_the_guide_names_variables_outputs_services_and_the_secret_that_there_are(
    configuration: Configuration,
) -> None:
    variables, outputs = (_labels(configuration.of(kind)) for kind in ("variable", "output"))
    for text in PAGES.values():
        assert set(re.findall(r"terraform output (?:-json )?([a-z_]+)", text)) <= outputs
    assert set(re.findall(r"`([a-z]+(?:_[a-z]+)+)\b", GUIDE)) <= variables
    (loop,) = re.findall(r"^for service in (.+); do$", GUIDE, re.MULTILINE)
    assert sorted(loop.split()) == sorted(SERVICES)
    (secret,) = [
        each for each in configuration.of("resource") if each.address == "google_secret_manager_secret.signing_key"
    ]
    assert secret.body["secret_id"] == '"${var.name}-signing-key"'
    assert set(re.findall(r"--secret=(\S+)", GUIDE)) == {"aex-signing-key"}
    assert re.findall(r"-backend-config=(\w+)=", GUIDE) == ["bucket"]


def test_pages_name_topics_subscriptions_and_areas_that_there_are(evaluated: Mapping[str, Any]) -> None:
    known = {*evaluated["pubsub"]["topics"], *evaluated["pubsub"]["subscriptions"]}
    first = "|".join(sorted({name.partition(".")[0] for name in known}))
    for path, text in PAGES.items():
        assert set(re.findall(rf"`((?:{first})\.[a-z.-]+)`", text)) - {"aex.verifiers", "aex.commands"} <= known, path
        assert set(re.findall(r"`([a-z]+)/staging/`", text)) in ({*()}, {*evaluated["blob_areas"]}), path


def _labels(blocks: list[Block]) -> set[str]:
    return {block.labels[0] for block in blocks}

"""Topics, indexes, buckets, rights and alarm policies equal what the code needs."""

from collections.abc import Mapping
from typing import Any

import pytest

from aex_models.events import SERVICES, TOPICS, find_subscribed_topics
from aex_runtime.background import platform_collections
from aex_runtime.bus.pubsub_topology import DEAD_LETTERS, subscription_id
from aex_verification.repository import ARTIFACTS_AREA
from aex_work_publisher.repository import DATA_AREA, EVALUATION_AREA
from deploy.write_indexes import OWN
from deploy.write_topology import FILE, build_file_text
from tests.deploy.alarm_guide import ALARMS, GUIDE, heading_anchors
from tests.deploy.terraform import TEXTS, load_resources
from tests.parts.promql import parse_selectors

RESOURCES = load_resources()
OWNERS = {each: service for service, own in OWN.items() for each in (*own, *platform_collections(service))}
GRANTS = {
    "google_project_iam_member.records": "roles/datastore.user",
    "google_project_iam_member.telling": "${each.value[1]}",
    "google_pubsub_subscription_iam_member.consumer": "roles/pubsub.subscriber",
    "google_pubsub_subscription_iam_member.dead_letters": "roles/pubsub.subscriber",
    "google_pubsub_topic_iam_member.dead_letters": "roles/pubsub.publisher",
    "google_pubsub_topic_iam_member.publisher": "roles/pubsub.publisher",
    "google_pubsub_topic_iam_member.viewer": "roles/pubsub.viewer",
    "google_secret_manager_secret_iam_member.file": "roles/secretmanager.secretAccessor",
    "google_secret_manager_secret_iam_member.review_api_key": "roles/secretmanager.secretAccessor",
    "google_secret_manager_secret_iam_member.signing_key": "roles/secretmanager.secretAccessor",
    "google_storage_bucket_iam_member.event_user": "roles/storage.objectUser",
    "google_storage_bucket_iam_member.user": "roles/storage.objectUser",
}


def test_committed_topology_equals_the_declarations() -> None:
    assert FILE.read_text() == build_file_text(), "the topics have changed: make topology"


def test_only_the_listed_rights_are_granted() -> None:
    grants = {address: body["role"].strip('"') for address, body in RESOURCES.items() if "_iam_" in address}
    assert grants == GRANTS
    assert not any("allUsers" in text or "roles/owner" in text for text in TEXTS.values())
    expression = RESOURCES["google_project_iam_member.records"]["condition"][0]["expression"]
    assert expression == r'"resource.name == \"projects/${var.project_id}/databases/${each.value}\""'


def test_reporting_rights_include_the_billed_project(evaluated: Mapping[str, Any]) -> None:
    # The exporter of spans names the billed project (`x-goog-user-project`): that needs a right of its own.
    roles = {
        "logging.logWriter",
        "monitoring.metricWriter",
        "serviceusage.serviceUsageConsumer",
        "telemetry.tracesWriter",
    }
    assert set(evaluated["reporting_roles"]) == {f"roles/{role}" for role in roles}


def test_topics_and_subscriptions_have_the_names_of_the_code() -> None:
    for kind in ("topic", "subscription"):
        assert RESOURCES[f"google_pubsub_{kind}.this"]["name"] == "${each.key}"


@pytest.mark.parametrize("service", SERVICES)
def test_service_publishes_and_consumes_only_its_topics(evaluated: Mapping[str, Any], service: str) -> None:
    published = {each["topic"] for each in evaluated["publishers"].values() if each["service"] == service}
    assert published == {t.name for t in TOPICS.values() if t.publisher == service} | set(
        find_subscribed_topics(service)
    )
    consumed = {name for name, consumer in evaluated["consumers"].items() if consumer == service}
    assert consumed == {subscription_id(topic, service) for topic in find_subscribed_topics(service)} - {DEAD_LETTERS}


def test_every_collection_is_in_its_services_database(evaluated: Mapping[str, Any]) -> None:
    owners = {collection.name: service for collection, service in OWNERS.items()}
    assert {own["collectionGroup"]: own["service"] for own in evaluated["indexes"].values()}.items() <= owners.items()
    assert {own["collection"]: own["service"] for own in evaluated["fields"].values()} == owners
    assert len({own["AEX_STORE_URL"] for own in evaluated["environment"].values()}) == len(SERVICES)


def test_expiring_records_are_deleted_by_firestore_and_not_indexed(evaluated: Mapping[str, Any]) -> None:
    expiring = {collection.name for collection in OWNERS if collection.expires}
    fields = [field for field in evaluated["fields"].values() if field["expires"]]
    assert {field["collection"] for field in fields} == expiring == {f"{service}-idempotency" for service in SERVICES}
    assert {(field["path"], tuple(field["indexes"])) for field in fields} == {("expires", ())}


def test_only_work_publisher_and_verification_share_a_bucket(evaluated: Mapping[str, Any]) -> None:
    assert RESOURCES["google_storage_bucket_iam_member.user"]["for_each"] == "${local.bucket_of}"
    buckets = {service: evaluated["environment"][service]["AEX_BLOBS_URL"] for service in SERVICES}
    assert {each for each in SERVICES if buckets[each] == buckets["verification"]} == {"verification", "work-publisher"}
    assert len(set(buckets.values())) == 3
    assert {ARTIFACTS_AREA, DATA_AREA, EVALUATION_AREA, "records"} == set(evaluated["blob_areas"])


def test_buckets_are_private_and_delete_unfinished_uploads() -> None:
    bucket = RESOURCES["google_storage_bucket.this"]
    assert (bucket["public_access_prevention"], bucket["uniform_bucket_level_access"]) == ('"enforced"', True)
    abort, delete = bucket["lifecycle_rule"]
    kinds = [each["action"][0]["type"].strip('"') for each in (abort, delete)]
    assert kinds == ["AbortIncompleteMultipartUpload", "Delete"]
    assert delete["condition"][0]["matches_prefix"] == '${[for area in local.blob_areas : "${area}/staging/"]}'


def test_signing_key_is_in_no_plan_or_state() -> None:
    key = RESOURCES["google_secret_manager_secret_version.signing_key"]
    assert "secret_data" not in key
    assert key["secret_data_wo"] == "${ephemeral.tls_private_key.signing.private_key_pem}"
    assert sum(text.count("tls_private_key.signing") for text in TEXTS.values()) == 1


def test_every_alarm_rule_becomes_its_policies(evaluated: Mapping[str, Any]) -> None:
    kinds = ("figure_alarms", "line_alarms", "repeated_line_alarms", "probe_alarms")
    made = [tuple(each["names"]) for kind in kinds for each in evaluated[kind].values()]
    assert set(made) == {tuple(rule["names"]) for rule in ALARMS if "left_out" not in rule}
    conditions = [[*rule.get("figures", []), *({"any_of", "lines", "probe"} & set(rule))] for rule in ALARMS]
    assert len(made) == sum(len(each) for each in conditions)
    assert set(evaluated["anchors"].values()) == set(heading_anchors(GUIDE))
    assert {rule["urgency"] for rule in ALARMS} == set(evaluated["severities"])


def test_policies_of_several_lines_use_the_labels_of_the_metric(evaluated: Mapping[str, Any]) -> None:
    metric = RESOURCES["google_logging_metric.lines"]
    labels = {label["key"].strip('"') for label in metric["metric_descriptor"][0]["labels"]}
    assert labels == set(metric["label_extractors"]) - {"__is_block__"}
    for each in evaluated["repeated_line_alarms"].values():
        (selector,) = parse_selectors(each["query"])
        assert selector.name == "logging_googleapis_com:user_aex_lines"
        names = {*selector.grouped_by, *(matcher.name for matcher in selector.matchers)}
        assert names <= {*labels, "monitored_resource"}

"""Who may do what comes to what the code needs, and no more: topics, subscriptions, databases, buckets, secrets."""

from collections.abc import Mapping
from typing import Any

import pytest

from aex_models.events import SERVICES, TOPICS, subscriptions_of
from aex_runtime.bus.pubsub_topology import DEAD_LETTERS, subscription_id
from aex_runtime.machinery import machinery
from aex_verification.repository import ARTIFACTS_AREA
from aex_work_publisher.repository import DATA_AREA, EVALUATION_AREA
from deploy.write_indexes import OWN
from deploy.write_topology import FILE, content
from tests.deploy.terraform.configuration import Block, Configuration

GRANTS = {
    ("google_project_iam_member", "records", "roles/datastore.user"),
    ("google_project_iam_member", "telling", "${each.value[1]}"),
    ("google_pubsub_subscription_iam_member", "consumer", "roles/pubsub.subscriber"),
    ("google_pubsub_subscription_iam_member", "dead_letters", "roles/pubsub.subscriber"),
    ("google_pubsub_topic_iam_member", "dead_letters", "roles/pubsub.publisher"),
    ("google_pubsub_topic_iam_member", "publisher", "roles/pubsub.publisher"),
    ("google_pubsub_topic_iam_member", "viewer", "roles/pubsub.viewer"),
    ("google_secret_manager_secret_iam_member", "file", "roles/secretmanager.secretAccessor"),
    ("google_secret_manager_secret_iam_member", "review_api_key", "roles/secretmanager.secretAccessor"),
    ("google_secret_manager_secret_iam_member", "signing_key", "roles/secretmanager.secretAccessor"),
    ("google_storage_bucket_iam_member", "user", "roles/storage.objectUser"),
}
"""All that is ever granted."""


def grants(configuration: Configuration) -> list[Block]:
    """Whatever gives anybody a right."""
    return [block for block in configuration.of("resource") if "_iam_" in block.labels[0]]


def test_the_committed_topology_is_what_the_code_declares() -> None:
    assert FILE.read_text() == content(), "the topics have changed: make topology"


def test_nothing_is_granted_beside_what_is_known(configuration: Configuration) -> None:
    found = {(*block.labels, block.body["role"].strip('"')) for block in grants(configuration)}
    assert found == GRANTS
    assert not any("allUsers" in text or "roles/owner" in text for text in configuration.texts.values())


@pytest.mark.parametrize("kind", ["google_pubsub_topic", "google_pubsub_subscription"])
def test_topics_and_subscriptions_have_the_names_that_the_code_asks_for(
    configuration: Configuration, kind: str
) -> None:
    (block,) = [each for each in configuration.of("resource") if each.labels[0] == kind]
    assert block.body["name"] == "${each.key}"


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_may_publish_what_is_its_own_and_give_back_what_it_consumes(
    evaluated: Mapping[str, Any], service: str
) -> None:
    granted = {each["topic"] for each in evaluated["publishers"].values() if each["service"] == service}
    assert granted == {t.name for t in TOPICS.values() if t.publisher == service} | set(subscriptions_of(service))


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_may_consume_its_own_subscriptions_alone(evaluated: Mapping[str, Any], service: str) -> None:
    granted = {name for name, consumer in evaluated["consumers"].items() if consumer == service}
    assert granted == {subscription_id(topic, service) for topic in subscriptions_of(service)}
    assert DEAD_LETTERS not in evaluated["consumers"]


def test_every_collection_lies_in_the_database_of_its_own_service(evaluated: Mapping[str, Any]) -> None:
    owner = {collection.name: service for service, own in OWN.items() for collection in (*own, *machinery(service))}
    assert {own["collectionGroup"]: own["service"] for own in evaluated["indexes"].values()}.items() <= owner.items()
    assert {own["collection"]: own["service"] for own in evaluated["fields"].values()} == owner


def test_what_expires_is_deleted_by_firestore_and_is_not_indexed(evaluated: Mapping[str, Any]) -> None:
    expiring = {
        collection.name
        for service, own in OWN.items()
        for collection in (*own, *machinery(service))
        if collection.expires
    }
    found = [field for field in evaluated["fields"].values() if field["expires"]]
    assert {field["collection"] for field in found} == expiring == {f"{service}-idempotency" for service in SERVICES}
    assert {(field["path"], tuple(field["indexes"])) for field in found} == {("expires", ())}


def test_evaluation_data_lie_where_nobody_else_may_look(
    evaluated: Mapping[str, Any], configuration: Configuration
) -> None:
    users = [block for block in grants(configuration) if block.labels[0] == "google_storage_bucket_iam_member"]
    assert [block.body["for_each"] for block in users] == ["${local.bucket_of}"]
    assert {service for service, bucket in evaluated["bucket_of"].items() if bucket == "contracts"} == {
        "verification",
        "work-publisher",
    }
    assert set(evaluated["bucket_of"]) == set(SERVICES)
    assert {ARTIFACTS_AREA, DATA_AREA, EVALUATION_AREA, "records"} == set(evaluated["blob_areas"])


def test_buckets_are_closed_and_keep_what_was_deleted(configuration: Configuration) -> None:
    (bucket,) = [block for block in configuration.of("resource") if block.labels[0] == "google_storage_bucket"]
    assert bucket.body["public_access_prevention"] == '"enforced"'
    assert str(bucket.body["uniform_bucket_level_access"]) in {"True", "${true}"}
    rules = [(rule["action"][0]["type"].strip('"'), rule["condition"][0]) for rule in bucket.body["lifecycle_rule"]]
    assert [kind for kind, _ in rules] == ["AbortIncompleteMultipartUpload", "Delete"]
    assert rules[1][1]["matches_prefix"] == '${[for area in local.blob_areas : "${area}/staging/"]}'


def test_the_signing_key_never_reaches_plan_or_state(configuration: Configuration) -> None:
    versions = [
        block for block in configuration.of("resource") if block.labels[0] == "google_secret_manager_secret_version"
    ]
    (key,) = [block for block in versions if block.labels[1] == "signing_key"]
    assert "secret_data" not in key.body
    assert key.body["secret_data_wo"] == "${ephemeral.tls_private_key.signing.private_key_pem}"
    named = [text.count("tls_private_key.signing") for text in configuration.texts.values()]
    assert sum(named) == 1

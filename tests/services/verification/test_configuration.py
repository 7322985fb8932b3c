"""What the service refuses to start with."""

from pathlib import Path

import pytest

from aex_runtime.settings import BadConfiguration
from aex_verification.main import create_app
from aex_verification.settings import Settings

UNGOVERNED = "verification: {governance_check: false}"


def test_a_service_that_would_store_no_outcomes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        BadConfiguration, match=r"^AEX_OUTCOME_CONFIG: .*verification\.store_outcomes: .*remove the line"
    ):
        create_app(configured(tmp_path, "verification: {store_outcomes: false}"))


CLOUD = {"store_url": "firestore://project", "bus_url": "pubsub://project", "blobs_url": "gs://bucket"}


@pytest.mark.parametrize("backend", CLOUD)
def test_governance_is_not_switched_off_where_any_backend_is_a_cloud_one(tmp_path: Path, backend: str) -> None:
    settings = configured(tmp_path, UNGOVERNED).model_copy(update={backend: CLOUD[backend]})
    with pytest.raises(BadConfiguration, match=r"^AEX_OUTCOME_CONFIG: .*outcome-verification\.yaml") as refused:
        create_app(settings)
    told = str(refused.value)
    assert "verification.governance_check: false is for the embedded backends alone" in told
    assert told.endswith(f"remove the line, or unset AEX_{backend.upper()}")


def test_both_switches_are_told_of_at_once(tmp_path: Path) -> None:
    settings = configured(tmp_path, "verification: {governance_check: false, store_outcomes: false}")
    with pytest.raises(BadConfiguration, match=r"store_outcomes: .*; .*governance_check: .*STORE_URL, AEX_BLOBS_URL$"):
        create_app(settings.model_copy(update={"store_url": "firestore://project", "blobs_url": "gs://bucket"}))


@pytest.mark.parametrize("urls", [{}, {"store_url": "memory:", "bus_url": "memory:", "blobs_url": "memory:"}])
def test_governance_may_be_switched_off_on_embedded_backends(tmp_path: Path, urls: dict[str, str]) -> None:
    assert create_app(configured(tmp_path, UNGOVERNED).model_copy(update=urls)).title


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("verification: {max_criteria: 3}", "verification.max_criteria"),
        ("extractors: {mine: {class: no.such:Thing}}", "extractors.mine"),
        ("- 1", "mapping"),
        ("{", "not YAML"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused_with_file_and_place(
    tmp_path: Path, text: str, place: str
) -> None:
    with pytest.raises(BadConfiguration, match=r"^AEX_OUTCOME_CONFIG: .*outcome-verification\.yaml") as refused:
        create_app(configured(tmp_path, text))
    assert place in str(refused.value)


OPERATORS = "tests.services.verification.operators"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (f"{OPERATORS}:wants_a_database", "'database'"),
        (f"{OPERATORS}:says_nothing_of_its_output", "'output' has no annotation"),
        (f"{OPERATORS}:nowhere", "cannot be loaded"),
        ("no.such.module:verify", "cannot be loaded"),
    ],
)
def test_a_verifier_that_cannot_be_served_stops_the_start_with_one_line_that_names_it(
    tmp_path: Path, path: str, why: str
) -> None:
    settings = configured(tmp_path, f"verifiers: {{good: '{OPERATORS}:obey', bad_one: '{path}'}}")
    with pytest.raises(BadConfiguration) as refused:
        create_app(settings)
    told = str(refused.value)
    assert told.startswith(f"AEX_OUTCOME_CONFIG: {settings.outcome_config}: verifiers.bad_one: {path}")
    assert why in told
    assert "\n" not in told


def test_verifiers_that_can_be_served_are_taken(tmp_path: Path) -> None:
    assert create_app(configured(tmp_path, f"verifiers: {{good: '{OPERATORS}:obey'}}")).title


def test_a_configuration_that_is_not_there_is_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / ".aex", outcome_config=tmp_path / "missing.yaml")
    with pytest.raises(BadConfiguration, match=r"missing\.yaml: No such file"):
        create_app(settings)


def configured(folder: Path, text: str) -> Settings:
    config = folder / "outcome-verification.yaml"
    config.write_text(text)
    return Settings(data_dir=folder / ".aex", outcome_config=config)

from pathlib import Path

import pytest

from aex_runtime.settings import BadConfiguration
from aex_verification.main import create_app
from aex_verification.settings import Settings

OPERATORS = "tests.services.verification.operators"
UNGOVERNED = "verification: {governance_check: false}"


CLOUD = {"store_url": "firestore://project", "bus_url": "pubsub://project", "blobs_url": "gs://bucket"}


@pytest.mark.parametrize("backend", CLOUD)
def test_governance_stays_on_with_any_cloud_backend(tmp_path: Path, backend: str) -> None:
    settings = configured(tmp_path, UNGOVERNED).model_copy(update={backend: CLOUD[backend]})
    with pytest.raises(BadConfiguration, match=r"^AEX_OUTCOME_CONFIG: .*outcome-verification\.yaml") as refused:
        create_app(settings)
    reported = str(refused.value)
    assert "verification.governance_check: false is for the embedded backends alone" in reported
    assert reported.endswith(f"remove the line, or unset AEX_{backend.upper()}")


def test_both_switches_are_reported_together(tmp_path: Path) -> None:
    settings = configured(tmp_path, "verification: {governance_check: false, store_outcomes: false}")
    with pytest.raises(BadConfiguration, match=r"store_outcomes: .*; .*governance_check: .*STORE_URL, AEX_BLOBS_URL$"):
        create_app(settings.model_copy(update={"store_url": "firestore://project", "blobs_url": "gs://bucket"}))


@pytest.mark.parametrize("urls", [{}, {"store_url": "memory:", "bus_url": "memory:", "blobs_url": "memory:"}])
@pytest.mark.parametrize("verifiers", ["", f"verifiers: {{good: '{OPERATORS}:obey'}}"])
def test_both_switches_may_be_off_on_embedded_backends(tmp_path: Path, urls: dict[str, str], verifiers: str) -> None:
    switches = "verification: {governance_check: false, store_outcomes: false}"
    assert create_app(configured(tmp_path, f"{switches}\n{verifiers}").model_copy(update=urls)).title


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("verification: {max_criteria: 3}", "verification.max_criteria"),
        ("extractors: {mine: {class: no.such:Thing}}", "extractors.mine"),
        ("- 1", "mapping"),
        (None, "No such file"),
        ("{", "not YAML"),
    ],
)
def test_unusable_configuration_is_refused_with_file_and_key(tmp_path: Path, text: str | None, key: str) -> None:
    with pytest.raises(BadConfiguration, match=r"^AEX_OUTCOME_CONFIG: .*outcome-verification\.yaml") as refused:
        create_app(configured(tmp_path, text))
    assert key in str(refused.value)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (f"{OPERATORS}:wants_a_database", "'database'"),
        (f"{OPERATORS}:says_nothing_of_its_output", "'output' has no annotation"),
        (f"{OPERATORS}:nowhere", "cannot be loaded"),
        ("no.such.module:verify", "cannot be loaded"),
    ],
)
def test_unusable_verifier_stops_the_start_with_one_line(tmp_path: Path, path: str, why: str) -> None:
    settings = configured(tmp_path, f"verifiers: {{good: '{OPERATORS}:obey', bad_one: '{path}'}}")
    with pytest.raises(BadConfiguration) as refused:
        create_app(settings)
    reported = str(refused.value)
    assert reported.startswith(f"AEX_OUTCOME_CONFIG: {settings.outcome_config}: verifiers.bad_one: {path}")
    assert why in reported
    assert "\n" not in reported


def configured(folder: Path, text: str | None) -> Settings:
    config = folder / "outcome-verification.yaml"
    if text is not None:
        config.write_text(text)
    return Settings(data_dir=folder / ".aex", outcome_config=config)

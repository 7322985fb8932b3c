"""What the service refuses to start with."""

from pathlib import Path

import pytest

from aex_runtime.settings import BadConfiguration
from aex_verification.main import create_app
from aex_verification.settings import Settings


def test_a_service_that_would_store_no_outcomes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match=r"verification\.store_outcomes"):
        create_app(configured(tmp_path, "verification: {store_outcomes: false}"))


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


def test_a_configuration_that_is_not_there_is_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / ".aex", outcome_config=tmp_path / "missing.yaml")
    with pytest.raises(BadConfiguration, match=r"missing\.yaml: No such file"):
        create_app(settings)


def configured(folder: Path, text: str) -> Settings:
    config = folder / "outcome-verification.yaml"
    config.write_text(text)
    return Settings(data_dir=folder / ".aex", outcome_config=config)

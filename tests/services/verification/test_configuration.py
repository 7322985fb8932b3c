"""What the service refuses to start with."""

from pathlib import Path

import pytest

from aex_outcomes.config import InvalidConfig
from aex_verification.main import create_app
from aex_verification.settings import Settings


def test_a_service_that_would_store_no_outcomes_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "outcome-verification.yaml"
    config.write_text("verification: {store_outcomes: false}\n")
    settings = Settings(data_dir=tmp_path / ".aex", outcome_config=config)
    with pytest.raises(InvalidConfig, match=r"verification\.store_outcomes"):
        create_app(settings)

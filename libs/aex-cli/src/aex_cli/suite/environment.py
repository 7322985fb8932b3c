"""What the services read from their environment."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aex_cli.suite.service_spec import ServiceSpec

CONFIG = "AEX_OUTCOME_CONFIG"


def suite_environment(
    inherited: Mapping[str, str], specs: Sequence[ServiceSpec], data_dir: Path, config: Path | None
) -> dict[str, str]:
    """The user's environment, with the data directory, the services' addresses and the configuration file set."""
    return {
        **inherited,
        "AEX_DATA_DIR": str(data_dir),
        "AEX_INSTANCE": "suite",  # the lock on the data directory sees to it that there is one of each service
        **{spec.url_variable: spec.url for spec in specs},
        **({CONFIG: str(config.resolve())} if config else {}),
        "PYTHONUNBUFFERED": "1",
    }

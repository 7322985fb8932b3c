"""What the services read from their environment."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aex_cli.suite.service_spec import ServiceSpec

CONFIG = "AEX_OUTCOME_CONFIG"
INSTANCE = "AEX_INSTANCE"


def suite_environment(inherited: Mapping[str, str], data_dir: Path, config: Path | None) -> dict[str, str]:
    """What all processes have in common: the user's environment, with the data directory and the configuration set."""
    return {
        # A name that several processes shared would have them take each other's leases.
        **{name: value for name, value in inherited.items() if name != INSTANCE},
        "AEX_DATA_DIR": str(data_dir),
        **({CONFIG: str(config.resolve())} if config else {}),
        "PYTHONUNBUFFERED": "1",
    }


def process_environment(spec: ServiceSpec, specs: Sequence[ServiceSpec], common: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of one process: where it listens, whom it calls, and its name among its like.

    It calls the services of its own replica, so that load spreads. It has a name only where its store is in the data
    directory: the lock on that sees to it that no other process has the same; another store may have other suites.
    """
    return {
        **common,
        "AEX_HOST": spec.host,
        "AEX_PORT": str(spec.port),
        **{each.url_variable: each.url for each in specs if each.replica == spec.replica},
        **({} if common.get("AEX_STORE_URL") else {INSTANCE: f"suite-{spec.replica}"}),
    }

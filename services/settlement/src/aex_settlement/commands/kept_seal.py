"""The last seal that an audit found in order, kept beside the data: the next audit requires it to be there still."""

from pathlib import Path

from pydantic import ValidationError

from aex_runtime.commandline.errors import UserError
from aex_runtime.data_dir import replace_file
from aex_runtime.settings import RuntimeSettings
from aex_settlement.commands.desk import SERVICE
from aex_settlement.rules.audit.findings import Seal

_FILE = "ledger-seal.json"


def seal_file(settings: RuntimeSettings) -> Path | None:
    """Where it is kept; None where the ledger is not in the data directory."""
    return settings.data_dir / SERVICE / _FILE if settings.store_url is None else None


def read_seal(file: Path | None) -> Seal | None:
    """The seal that was kept; None where there is none. Raises `UserError` for a file that holds something else."""
    if file is None or not file.exists():
        return None
    try:
        return Seal.model_validate_json(file.read_bytes())
    except (ValidationError, OSError):
        raise UserError(
            f"{file} holds no seal", "find out who changed it; without it, give a seal that you kept with --seal"
        ) from None


def keep_seal(file: Path | None, seal: Seal | None) -> None:
    """Keep it for the next audit, readable for the owner alone."""
    if file is not None and seal is not None:
        replace_file(file, seal.model_dump_json().encode() + b"\n", mode=0o600)

"""The commands of `aex`, and the options that several of them take."""

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_DIR = Path(".aex")
DataDir = Annotated[Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory.")]
NewDataDir = Annotated[Path, typer.Option(envvar="AEX_DATA_DIR", help="Directory of all data; created on first start.")]
Config = Annotated[
    Path | None, typer.Option(envvar="AEX_OUTCOME_CONFIG", help="outcome-verification.yaml, as the services use.")
]


def create_command_group(summary: str) -> typer.Typer:
    """Return an empty typer application for sub-commands, with `summary` as its help text."""
    return typer.Typer(rich_markup_mode="markdown", add_completion=False, no_args_is_help=True, help=summary)

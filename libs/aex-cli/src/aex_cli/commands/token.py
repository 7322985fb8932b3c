"""`aex token` prints a bearer token. Other commands get the signing key and the token issuer here."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from aex_cli.commands import DEFAULT_DIR, DataDir
from aex_cli.suite.data_directory import prepare_data_directory
from aex_models.audiences import Audience
from aex_models.frozen import Identifier
from aex_runtime.clock import WallClock
from aex_runtime.command_backends import read_settings
from aex_runtime.commandline import UserError, write_line_to_stdout
from aex_runtime.identity.local_key import LocalKey, UnsafeKey, load_key_file, load_or_create_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(r"([0-9]{1,6})([smhd])")
MAX_DURATION = timedelta(days=365)


def parse_duration(text: str) -> timedelta:
    """Parse a duration such as `90s`, `15m`, `12h` or `7d`.

    Raises `UserError` for any other text, for 0 and for more than a year.
    """
    match = _DURATION.fullmatch(text.strip())
    duration = timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else timedelta()
    if not timedelta() < duration <= MAX_DURATION:
        raise UserError(f"{text!r} is no duration between 1s and 365d", "write for example 90s, 15m, 12h or 7d")
    return duration


def load_or_create_signing_key(data_dir: Path) -> LocalKey:
    """Return the key in the file `AEX_KEY_FILE`, or else the key of the data directory.

    A missing directory, and a missing key in it, are created. Raises `UserError` for a key that others can read.
    """
    key_file = read_settings(data_dir).key_file
    try:
        return load_key_file(key_file) if key_file else load_or_create_key(prepare_data_directory(data_dir))
    except UnsafeKey as error:
        raise UserError(str(error)) from None


def create_token_issuer(data_dir: Path) -> LocalIssuer:
    """Return an issuer of bearer tokens, signed with the key of `load_or_create_signing_key`."""
    return LocalIssuer(load_or_create_signing_key(data_dir), WallClock(), RandomIds())


app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
_NAME: TypeAdapter[str] = TypeAdapter(Identifier)


@app.command(epilog='Example: `curl -H "Authorization: Bearer $(aex token --role consumer --sub acme)" …`')
def token(
    role: Annotated[Audience, typer.Option(help="The bearer's role.")],
    sub: Annotated[str, typer.Option(help="The bearer's name.")],
    org: Annotated[str | None, typer.Option(help="The bearer's organisation.")] = None,
    data_dir: DataDir = DEFAULT_DIR,
    ttl: Annotated[str, typer.Option(help="Lifetime: 90s, 15m, 12h, 7d.")] = "12h",
) -> None:
    """Print a bearer token, and nothing else, for the suite on this data directory.

    A missing key is created, so the token is valid as soon as `aex up` runs.
    """
    if role is Audience.SERVICE and read_settings(data_dir).service_tokens == "google":
        raise UserError(
            "with AEX_SERVICE_TOKENS=google the services accept only Google's tokens from each other",
            "choose another role",
        )
    organisation = None if org is None else _check_name("--org", org)
    issuer = create_token_issuer(data_dir)
    write_line_to_stdout(issuer.mint(_check_name("--sub", sub), role, org=organisation, ttl=parse_duration(ttl)))


def _check_name(option: str, name: str) -> str:
    try:
        return _NAME.validate_python(name)
    except ValidationError:
        fix = "use 1 to 128 letters, digits and . _ : @ / + - without spaces"
        raise UserError(f"{option} {name!r} is no name", fix) from None

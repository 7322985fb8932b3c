"""`aex token`: a bearer token for the suite, signed with its own key."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from aex_cli.durations import parse_duration
from aex_cli.signing_key import signing_key
from aex_models.audiences import Audience
from aex_models.frozen import Identifier
from aex_runtime.clock import WallClock
from aex_runtime.commandline.embedded import read_settings
from aex_runtime.commandline.errors import UserError
from aex_runtime.commandline.output import write_line
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.ids import RandomIds

app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
_NAME: TypeAdapter[str] = TypeAdapter(Identifier)


@app.command(epilog='Example: `curl -H "Authorization: Bearer $(aex token --role consumer --sub acme)" …`')
def token(
    role: Annotated[Audience, typer.Option(help="What the bearer may do.")],
    sub: Annotated[str, typer.Option(help="Who the bearer is.")],
    org: Annotated[str | None, typer.Option(help="The bearer's organisation.")] = None,
    data_dir: Annotated[Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory.")] = Path(".aex"),
    ttl: Annotated[str, typer.Option(help="How long it is good: 90s, 15m, 12h, 7d.")] = "12h",
) -> None:
    """Print a bearer token, and nothing else, for the suite on this data directory.

    The key is made where there is none yet: the token is good as soon as `aex up` runs.
    """
    if role is Audience.SERVICE and read_settings(data_dir).service_tokens == "google":
        raise UserError(
            "with AEX_SERVICE_TOKENS=google the services know each other by Google's tokens, and take no other for one",
            "choose another role",
        )
    issuer = LocalIssuer(signing_key(data_dir), WallClock(), RandomIds())
    write_line(
        issuer.mint(
            _checked("--sub", sub),
            role,
            org=None if org is None else _checked("--org", org),
            ttl=parse_duration(ttl),
        )
    )


def _checked(option: str, name: str) -> str:
    try:
        return _NAME.validate_python(name)
    except ValidationError:
        raise UserError(
            f"{option} {name!r} is no name", "use 1 to 128 letters, digits and . _ : @ / + - without spaces"
        ) from None

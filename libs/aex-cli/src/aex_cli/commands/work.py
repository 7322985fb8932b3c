"""`aex work`: publication of works from files."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from aex_cli.commands import DEFAULT_DIR, create_command_group
from aex_cli.commands.token import create_token_issuer
from aex_cli.importing.rows import read_rows
from aex_cli.offline.documents import InputDocument, read_document
from aex_cli.offline.work_files import extract_work_fields
from aex_client import AexClient, AexError, Endpoints, ProblemError
from aex_client.calls import publish_work
from aex_models.audiences import Audience
from aex_models.canonical import canonical_bytes
from aex_runtime.command_backends import read_suite_settings_and_configure_logging
from aex_runtime.commandline import (
    CommandFailed,
    UserError,
    print_error,
    progress_bars,
    write_line_to_stdout,
)
from aex_runtime.logs import configure_logging

app = create_command_group("Publish works from files.")
_STOPPING = frozenset({401, 403})
"""Refusals that every further work would get too."""


@app.callback()
def work() -> None:
    """Publish works."""  # without this callback typer would make the only sub-command the command itself


@dataclass(frozen=True, slots=True)
class WorkFile:
    """A work to publish, and where it comes from: a file, or a line of one."""

    source: str
    fields: dict[str, Any]


@app.command(epilog="Example: `aex work publish imported/works.jsonl --consumer acme`")
def publish(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Works, or JSON lines of works (*.jsonl).")],
    consumer: Annotated[
        str | None, typer.Option(help="Publish as this consumer, with the key of the data directory.")
    ] = None,
    org: Annotated[str | None, typer.Option(help="The consumer's organisation.")] = None,
    url: Annotated[
        str, typer.Option(envvar="AEX_WORK_PUBLISHER_URL", help="URL of the work-publisher service.")
    ] = "http://127.0.0.1:8081",
    token: Annotated[
        str | None, typer.Option(envvar="AEX_TOKEN", help="A consumer's bearer token, instead of --consumer.")
    ] = None,
    data_dir: Annotated[
        Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory, for its key.")
    ] = DEFAULT_DIR,
) -> None:
    """Publish works and print their ids, one a line, in the order of the files.

    A work is published once, however often the command runs: its idempotency key is the digest of its content. The id
    of an earlier run is then printed again. Services keep keys for 32 days. A refused work is named on stderr, and the
    next one follows.

    Exit codes: 0 all are published, 1 some were refused or the service failed, 2 wrong file or option.
    """
    configure_logging("aex", "warning", "console")  # stdout is only for the ids
    works = [each for file in files for each in _read_works(file)]
    bearer = token or _mint_token(consumer, org, data_dir)
    with AexClient(Endpoints(url, url, url, url), bearer) as client, progress_bars() as progress:
        refused = 0
        for index, each in enumerate(works):
            refused += not _publish(client, each, index, len(works))
            progress("publishing", index + 1, len(works))
    if refused:
        raise CommandFailed(f"{refused} of {len(works)} works were refused")


def _mint_token(consumer: str | None, org: str | None, data_dir: Path) -> str:
    if consumer is None:
        raise UserError("the consumer is missing", "give --consumer NAME, or --token (AEX_TOKEN)")
    read_suite_settings_and_configure_logging(data_dir)  # refuses a directory without data
    return create_token_issuer(data_dir).mint(consumer, Audience.CONSUMER, org=org, ttl=timedelta(hours=1))


def _read_works(file: str) -> Iterator[WorkFile]:
    """Yield the works of a file. Raises `UserError` for a file that cannot be read or holds no works."""
    if Path(file).suffix.lower() == ".jsonl":
        documents = [
            InputDocument(f"{file} line {row.number}", row.value) for row in read_rows("the command", Path(file))
        ]
    else:
        documents = [read_document("the command", file)]
    for document in documents:
        yield WorkFile(document.name, extract_work_fields(document))


def _publish(client: AexClient, work_file: WorkFile, index: int, total: int) -> bool:
    """Publish one work and print its id; print a refusal and return False.

    Raises `CommandFailed` if the service does not answer, or refuses the token.
    """
    body = canonical_bytes(work_file.fields)
    call = replace(publish_work(work_file.fields), body=body).with_key(f"aex-work-{hashlib.sha256(body).hexdigest()}")
    try:
        write_line_to_stdout(client.send(call).work_id)
    except ProblemError as error:
        if error.status in _STOPPING or error.retryable:
            raise CommandFailed(_describe_stop(error, index, total)) from None
        for line in _describe_refusal(error):
            print_error(f"{work_file.source}: {line}")
        return False
    except AexError as error:
        raise CommandFailed(_describe_stop(error, index, total)) from None
    return True


def _describe_refusal(error: ProblemError) -> Sequence[str]:
    return [f"{each.path or '/'}: {each.message} ({each.code})" for each in error.errors] or [str(error)]


def _describe_stop(error: AexError, index: int, total: int) -> str:
    return f"stopped after {index} of {total} works: {error}; run the command again to go on"

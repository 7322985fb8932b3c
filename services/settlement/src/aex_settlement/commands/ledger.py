"""Command `aex ledger verify`: audit a suite's ledger while the suite runs.

After an audit without findings the seal, the number and hash of the last batch, is kept in a file beside the data. The
next audit requires that the journal still has this batch.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from aex_runtime.command_backends import has_store, open_service_backends, read_suite_settings_and_configure_logging
from aex_runtime.commandline import (
    CommandFailed,
    UserError,
    print_error,
    progress_bars,
    write_json_to_stdout,
    write_line_to_stdout,
    write_rows_to_stdout,
)
from aex_runtime.files import replace_file
from aex_runtime.settings import RuntimeSettings
from aex_runtime.unit_of_work import UnitOfWork
from aex_settlement.deps import Deps
from aex_settlement.handlers.audit.verify import AuditReport, NoLedger, audit_ledger
from aex_settlement.rules.audit_findings import MAX_LISTED, Seal, parse_seal

SERVICE = "settlement"


@asynccontextmanager
async def open_ledger(settings: RuntimeSettings) -> AsyncIterator[Deps]:
    """Open the ledger's store for the block, and yield the collaborators of the handlers.

    Raises `CommandFailed` or `UserError` if the store cannot be opened.
    """
    async with open_service_backends(settings, SERVICE) as backends:
        store, clock = backends.store, backends.clock
        yield Deps(UnitOfWork(SERVICE, store, clock, lambda _: None), store, clock, backends.ids, lambda: None)


def kept_seal_path(settings: RuntimeSettings) -> Path | None:
    """Return the path of the file with the kept seal; None if the ledger is not in the data directory."""
    return settings.data_dir / SERVICE / "ledger-seal.json" if settings.store_url is None else None


def read_kept_seal(file: Path | None) -> Seal | None:
    """Return the seal kept by an earlier audit; None if there is none.

    Raises `UserError` if the file holds something else.
    """
    if file is None or not file.exists():
        return None
    try:
        return Seal.model_validate_json(file.read_bytes())
    except (ValidationError, OSError):
        raise UserError(
            f"{file} holds no seal", "find out what changed it; without the file, pass a seal that you kept with --seal"
        ) from None


def write_kept_seal(file: Path | None, seal: Seal | None) -> None:
    """Write the seal for the next audit, readable only by the owner.

    Does nothing if file or seal is None.
    """
    if file is not None and seal is not None:
        replace_file(file, seal.model_dump_json().encode() + b"\n", mode=0o600)


app = typer.Typer(
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
    help="Audit the ledger: find records that were changed outside of the service.",
)
COLUMNS = ("code", "subject", "detail")


class AuditUnfinished(CommandFailed):
    """Error of an audit that was not completed and therefore has no result; exit code 3."""

    exit_code = 3


@app.callback()
def ledger() -> None:
    """Keep `verify` a sub-command although it is the only one."""


@app.command(epilog="Example: `aex ledger verify --seal 1041:9f86d081…`")
def verify(
    data_dir: Annotated[Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory.")] = Path(".aex"),
    seal: Annotated[
        str | None, typer.Option(help="A seal from before, as this command printed it.", metavar="SEQ:HASH")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Check each batch, transaction and projection; name what is broken, missing, altered or added.

    Works beside a running suite; a projection that is rebuilt meanwhile is reported as `projection_unread`. Exits with
    0 without findings, 1 with findings, 2 for bad input, 3 when the audit could not be completed.

    The last line names the seal of the last batch. Keep it elsewhere and pass it with `--seal` the next time, to detect
    a journal that was rewritten with all its hashes. The last good seal of an embedded ledger is kept beside the data.
    """
    settings = read_suite_settings_and_configure_logging(data_dir)
    file = kept_seal_path(settings)
    known_seals = [each for each in (_parse_option(seal), read_kept_seal(file)) if each is not None]
    _require_ledger(settings, data_dir, known_seals)
    begin = time.monotonic()
    report = _audit(settings, data_dir, known_seals)
    seconds = time.monotonic() - begin
    if not report.findings.total:
        write_kept_seal(file, report.seal)
    if as_json:
        write_json_to_stdout(_json(report, seconds))
    else:
        _print(report, seconds, has_known_seal=bool(known_seals))
    raise typer.Exit(1 if report.findings.total else 0)


def _parse_option(text: str | None) -> Seal | None:
    if text is None:
        return None
    seal = parse_seal(text)
    if seal is None:
        raise UserError(f"--seal {text!r} is no seal", "write a batch number, a colon and the 64 digits of its hash")
    return seal


def _require_ledger(settings: RuntimeSettings, data_dir: Path, known_seals: list[Seal]) -> None:
    if has_store(settings, SERVICE):
        return
    if known_seals:
        raise CommandFailed(f"the ledger in {data_dir} is gone: batch {known_seals[0].seq} was sealed there")
    raise UserError(f"there is no ledger in {data_dir} yet", "start the suite with aex up")


def _audit(settings: RuntimeSettings, data_dir: Path, known_seals: list[Seal]) -> AuditReport:
    async def audit() -> AuditReport:
        with progress_bars() as progress:
            async with open_ledger(settings) as deps:
                return await audit_ledger(deps, known_seals, progress)

    try:
        return asyncio.run(audit())
    except NoLedger:
        raise UserError(f"nothing was sealed in {data_dir} yet", "start the suite with aex up") from None
    except CommandFailed as error:
        raise AuditUnfinished(str(error)) from None


def _json(report: AuditReport, seconds: float) -> dict[str, object]:
    findings = report.findings
    return {
        "ok": not findings.total,
        "batches": report.batches,
        "transactions": report.transactions,
        "settlements": report.settlements,
        "waiting": report.waiting,
        "first_waiting": list(report.first_waiting),
        "projections": report.projections,
        "first_broken_link": findings.first_broken_link,
        "findings": [each._asdict() for each in findings.listed],
        "findings_total": findings.total,
        "seal": None if report.seal is None else report.seal.model_dump(),
        "seconds": round(seconds, 3),
        "transactions_per_second": round(report.transactions / seconds),
    }


def _print(report: AuditReport, seconds: float, *, has_known_seal: bool) -> None:
    findings = report.findings
    if findings.total:
        write_rows_to_stdout(COLUMNS, [each._asdict() for each in findings.listed], "Findings")
        if findings.total > MAX_LISTED:
            write_line_to_stdout(f"and {findings.total - MAX_LISTED} more")
        if findings.first_broken_link is not None:
            write_line_to_stdout(f"first broken link: batch {findings.first_broken_link}")
    write_line_to_stdout(
        f"{report.batches} batches, {report.transactions} transactions and {report.settlements} settlements"
        f" in {seconds:.1f} s ({report.transactions / seconds:.0f} transactions/s)"
    )
    if report.waiting:
        more = " …" if report.waiting > len(report.first_waiting) else ""
        write_line_to_stdout(f"{report.waiting} wait to be sealed: {' '.join(report.first_waiting)}{more}")
    if findings.total and not report.projections:
        print_error("balances and rollups were not compared: repair the journal first")
    if findings.total:
        print_error(f"{findings.total} finding{'s' * (findings.total > 1)}")
    elif not has_known_seal:
        print_error("no seal was known: a journal that was rewritten with all its hashes would not be found")
    if report.seal is not None:
        write_line_to_stdout(f"seal {report.seal}")

"""`aex ledger verify`: whether anybody touched the books."""

import asyncio
import time
from pathlib import Path
from typing import Annotated

import typer

from aex_runtime.commandline.embedded import existing_suite, has_store
from aex_runtime.commandline.errors import Failed, UserError
from aex_runtime.commandline.output import complain, write_json, write_line, write_rows
from aex_runtime.commandline.progress import bars
from aex_runtime.settings import RuntimeSettings
from aex_settlement.commands.desk import SERVICE, open_desk
from aex_settlement.commands.kept_seal import keep_seal, read_seal, seal_file
from aex_settlement.handlers.audit.journal_end import NoLedger
from aex_settlement.handlers.audit_ledger import Audited, audit_ledger
from aex_settlement.rules.audit.findings import SHOWN, Seal, parse_seal

app = typer.Typer(
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
    help="Look after the ledger: find out whether anybody touched it.",
)
COLUMNS = ("code", "subject", "detail")


class Unfinished(Failed):
    """The audit could not be ended: that says nothing about the books, neither good nor bad."""

    exit_code = 3


@app.callback()
def ledger() -> None:
    """Keep `verify` a sub-command though it is the only one."""


@app.command(epilog="Example: `aex ledger verify --seal 1041:9f86d081…`")
def verify(
    data_dir: Annotated[Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory.")] = Path(".aex"),
    seal: Annotated[
        str | None, typer.Option(help="A seal from before, as this command printed it.", metavar="SEQ:HASH")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Check each batch, each transaction and all that is made from them; name what is broken, missing, altered, added.

    Works beside a running suite. Exits with 0 when all is well, 1 when something was found, 2 for bad input, 3 when it
    could not be told.

    The last line names the seal of the last batch: keep it elsewhere and give it with `--seal` the next time, so that
    not even somebody who rewrites the whole store goes unseen. Of a ledger in the data directory the last good seal is
    kept there too.
    """
    settings = existing_suite(data_dir)
    file = seal_file(settings)
    kept = read_seal(file)
    known = [each for each in (_given(seal), kept) if each is not None]
    _require_ledger(settings, data_dir, known)
    begin = time.monotonic()
    audited = _audit(settings, data_dir, known)
    seconds = time.monotonic() - begin
    if not audited.findings.total:
        keep_seal(file, audited.seal)
    if as_json:
        write_json(_json(audited, seconds))
    else:
        _print(audited, seconds, seal_is_known=bool(known))
    raise typer.Exit(1 if audited.findings.total else 0)


def _given(text: str | None) -> Seal | None:
    if text is None:
        return None
    seal = parse_seal(text)
    if seal is None:
        raise UserError(f"--seal {text!r} is no seal", "write the number of a batch, a colon and its 64 digits of hash")
    return seal


def _require_ledger(settings: RuntimeSettings, data_dir: Path, known: list[Seal]) -> None:
    if has_store(settings, SERVICE):
        return
    if known:
        raise Failed(f"the ledger in {data_dir} is gone: batch {known[0].seq} was sealed there")
    raise UserError(f"there is no ledger in {data_dir} yet", "start the suite with aex up")


def _audit(settings: RuntimeSettings, data_dir: Path, known: list[Seal]) -> Audited:
    async def audit() -> Audited:
        with bars() as tell:
            async with open_desk(settings) as deps:
                return await audit_ledger(deps, known, tell)

    try:
        return asyncio.run(audit())
    except NoLedger:
        raise UserError(f"nothing was sealed in {data_dir} yet", "start the suite with aex up") from None
    except Failed as error:
        raise Unfinished(str(error)) from None


def _json(audited: Audited, seconds: float) -> dict[str, object]:
    findings = audited.findings
    return {
        "ok": not findings.total,
        "batches": audited.batches,
        "transactions": audited.transactions,
        "settlements": audited.settlements,
        "waiting": audited.waiting,
        "first_waiting": list(audited.first_waiting),
        "projections": audited.projections,
        "first_broken_link": findings.first_broken_link,
        "findings": [{"code": each.code, "subject": each.subject, "detail": each.detail} for each in findings.shown],
        "findings_total": findings.total,
        "seal": None if audited.seal is None else audited.seal.model_dump(),
        "seconds": round(seconds, 3),
        "transactions_per_second": round(audited.transactions / seconds),
    }


def _print(audited: Audited, seconds: float, *, seal_is_known: bool) -> None:
    findings = audited.findings
    if findings.total:
        rows = [{"code": each.code, "subject": each.subject, "detail": each.detail} for each in findings.shown]
        write_rows(COLUMNS, rows, "What is wrong")
        if findings.total > len(rows):
            write_line(f"and {findings.total - SHOWN} more")
        if findings.first_broken_link is not None:
            write_line(f"first broken link: batch {findings.first_broken_link}")
    write_line(
        f"{audited.batches} batches, {audited.transactions} transactions and {audited.settlements} settlements"
        f" in {seconds:.1f} s ({audited.transactions / seconds:.0f} transactions/s)"
    )
    if audited.waiting:
        more = " …" if audited.waiting > len(audited.first_waiting) else ""
        write_line(f"{audited.waiting} wait to be sealed: {' '.join(audited.first_waiting)}{more}")
    if findings.total and not audited.projections:
        complain("balances and rollups were not compared: first the journal must be in order")
    if findings.total:
        complain(f"{findings.total} finding{'s' * (findings.total > 1)}")
    elif not seal_is_known:
        complain("no seal was known from before: what was rewritten from some batch on with all its hashes is not seen")
    if audited.seal is not None:
        write_line(f"seal {audited.seal}")

"""`aex import`: criteria and works from the evals of other tools."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError
from rich.console import Console

from aex_cli.commands import Config, create_command_group
from aex_cli.importing.openai_evals import import_openai_eval
from aex_cli.importing.output_files import UNTRANSLATED_FILE, WORKS_FILE, WrittenImport, write_import
from aex_cli.importing.promptfoo.csv_tests import read_csv_tests
from aex_cli.importing.promptfoo.importer import import_promptfoo
from aex_cli.importing.rows import read_rows
from aex_cli.offline.documents import InputDocument, read_document
from aex_cli.offline.jobs import load_metric_catalog
from aex_cli.report import create_report
from aex_models.money import Money, format_amount
from aex_runtime.commandline import UserError, print_error, progress_bars

app = create_command_group("Translate evals of other tools into criteria and works. No code of their files is run.")
_MONEY: TypeAdapter[Any] = TypeAdapter(Money)
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder of criteria.yaml, works.jsonl and untranslated.json.")]
MaxCpc = Annotated[str, typer.Option(help="Budget of each work: the highest base price.")]


@app.command("openai-evals", epilog="Example: `aex import openai-evals eval.json --data rows.jsonl --out imported`")
def openai_evals(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An eval, or a grader of the fine-tuning API.")],
    out: Out,
    data: Annotated[Path | None, typer.Option(metavar="FILE", help="Rows as JSON lines.")] = None,
    visible_fields: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="FIELD",
            help="A field of the rows that agents read; repeat the option for further fields.",
            show_default="those that no grader reads",
        ),
    ] = None,
    max_cpc: MaxCpc = "0",
    config: Config = None,
) -> None:
    """Translate an OpenAI eval: one work for each row of its data.

    An agent delivers the sample's `output_text` as `{"text": …}`. It reads the fields of the row that no grader reads.

    Exit codes: 0 all is translated, 1 something is listed in untranslated.json, 2 wrong file or option.
    """
    amount, catalog = _check_amount(max_cpc), load_metric_catalog(config)
    document = read_document("the command", file)
    rows = None if data is None else read_rows("--data", data)
    with progress_bars() as progress:
        imported = import_openai_eval(document, rows, visible_fields or (), catalog, progress)
        written = write_import(imported, out, amount, catalog, progress)
    if not any(each.input for each in imported.works):
        print_error("note: agents read nothing of the rows; name the fields of the task with --input")
    _finish(written, out)


@app.command("promptfoo", epilog="Example: `aex import promptfoo promptfooconfig.yaml --out imported`")
def promptfoo(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A promptfoo configuration.")],
    out: Out,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Tests, instead of the configuration's: a list, JSON lines, CSV."),
    ] = None,
    max_cpc: MaxCpc = "0",
    config: Config = None,
) -> None:
    """Translate a promptfoo configuration: one work for each test.

    An agent delivers the output as `{"text": …}`, and reads the filled prompt. References to files are listed as
    untranslated.

    Exit codes: 0 all is translated, 1 something is listed in untranslated.json, 2 wrong file or option.
    """
    amount, catalog = _check_amount(max_cpc), load_metric_catalog(config)
    document = read_document("the command", file)
    tests = None if data is None else _read_tests(data)
    with progress_bars() as progress:
        imported = import_promptfoo(document, tests, progress)
        written = write_import(imported, out, amount, catalog, progress)
    _finish(written, out)


def _check_amount(text: str) -> str:
    try:
        return format_amount(_MONEY.validate_python(text))
    except ValidationError:
        raise UserError(f"--max-cpc {text!r} is no amount", "give plain digits of 0 or more, such as 0.25") from None


def _read_tests(path: Path) -> InputDocument:
    """Read a file of tests: CSV, JSON lines, or a YAML or JSON list."""
    if path.suffix.lower() == ".csv":
        return InputDocument(str(path), read_csv_tests(path))
    if path.suffix.lower() != ".jsonl":
        return read_document("--data", str(path))
    return InputDocument(str(path), [row.value for row in read_rows("--data", path)])


def _finish(written: WrittenImport, out: Path) -> None:
    """Print what was written, and exit with 1 if something was not translated."""
    report = create_report(Console())
    sets = f"{written.criteria_sets} set{'' if written.criteria_sets == 1 else 's'} of criteria"
    report.print_step("works", f"{written.works} in {out / WORKS_FILE}, with {sets}")
    kinds = Counter(each.kind for each in written.untranslated)
    if kinds:
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        report.print_step("warning", f"not translated, see {out / UNTRANSLATED_FILE}: {counts}")
    raise typer.Exit(1 if kinds else 0)

"""Import of documents and verdicts of the engine on the works that they become."""

import json
from pathlib import Path
from typing import Any

from aex_cli.importing.checks import Check, CheckGroup
from aex_cli.importing.listing import ImportedWork
from aex_cli.importing.openai_evals import import_openai_eval
from aex_cli.importing.output_files import write_import
from aex_cli.importing.promptfoo.importer import import_promptfoo
from aex_cli.importing.rows import DataRow
from aex_cli.importing.work_bodies import build_work_body
from aex_cli.offline.documents import InputDocument
from aex_models.criteria import SuccessCriteria
from aex_models.results import Verdict
from aex_outcomes import Catalog
from tests.libs.outcomes.engine.builders import verify

CATALOG = Catalog.of()


def no_progress(stage: str, done: int, total: int, /) -> None:
    """Draw nothing."""


def body_of(*checks: Check, minimum: float | None = None) -> dict[str, Any]:
    """The body of a work with these checks."""
    return build_work_body(ImportedWork("work", {}, CheckGroup(checks, minimum), "", 0), "0", CATALOG)


async def verdict(body: dict[str, Any], output: Any, **more: Any) -> Verdict:
    """The engine's verdict on an output, or on a text."""
    delivered = {"text": output} if isinstance(output, str) else output
    criteria = SuccessCriteria.model_validate(body["success_criteria"])
    found = await verify(criteria, delivered, evaluation=body.get("evaluation"), **more)
    return found.verdict


async def passes(check: Check, text: str) -> bool:
    """Return whether a text meets a check; nothing may stay open."""
    found = await verdict(body_of(check), text)
    assert found is not Verdict.INDETERMINATE
    return found is Verdict.PASSED


def import_eval(eval_object: Any, *items: dict[str, Any], folder: Path) -> tuple[list[Any], list[Any]]:
    """The works and the untranslated entries of an OpenAI eval over these items."""
    rows = [DataRow(number, {"item": item}) for number, item in enumerate(items, start=1)] or None
    imported = import_openai_eval(InputDocument("eval.json", eval_object), rows, (), CATALOG, no_progress)
    write_import(imported, folder, "0", CATALOG, no_progress)
    return read_files(folder)


def import_config(config: Any, folder: Path, tests: Any = None) -> tuple[list[Any], list[Any]]:
    """The works and the untranslated entries of a promptfoo configuration."""
    own = None if tests is None else InputDocument("tests.yaml", tests)
    imported = import_promptfoo(InputDocument("promptfooconfig.yaml", config), own, no_progress)
    write_import(imported, folder, "0", CATALOG, no_progress)
    return read_files(folder)


def read_files(folder: Path) -> tuple[list[Any], list[Any]]:
    """The works and the untranslated entries in a folder."""
    works = [json.loads(line) for line in (folder / "works.jsonl").read_text(encoding="utf-8").splitlines()]
    return works, json.loads((folder / "untranslated.json").read_text(encoding="utf-8"))

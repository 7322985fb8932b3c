"""The files of an import: `criteria.yaml`, `works.jsonl` and `untranslated.json`."""

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.listing import ImportedEval, Untranslated
from aex_cli.importing.work_bodies import build_work_body
from aex_cli.report import write_atomically
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.appraisal import Appraisals
from aex_runtime.commandline import ProgressCallback, UserError

CRITERIA_FILE, WORKS_FILE, UNTRANSLATED_FILE = "criteria.yaml", "works.jsonl", "untranslated.json"


@dataclass(frozen=True, slots=True)
class WrittenImport:
    """The result of writing an import: the number of works, and the untranslated graders."""

    works: int
    criteria_sets: int
    """Number of different criteria among the works."""
    untranslated: tuple[Untranslated, ...]


def write_import(
    imported: ImportedEval, folder: Path, max_cpc: str, catalog: Catalog, progress: ProgressCallback
) -> WrittenImport:
    """Write the files of an import into a folder, and replace older ones.

    A missing folder is created. A row without a valid work is left out and listed. Raises `UserError` for a folder that
    cannot be written.
    """
    bodies = []
    appraise = Appraisals()
    for index, work in enumerate(imported.works):
        try:
            bodies.append(build_work_body(work, max_cpc, catalog, appraise))
        except NotTranslatable as error:
            imported.untranslated.add(work.path, error, work.row)
        progress("checking", index + 1, len(imported.works))
    rows = {each.row for each in imported.works}
    untranslated = tuple(imported.untranslated.entries(len(rows)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be created: {error.strerror}", "name another folder with --out") from None
    lines = "".join(f"{json.dumps(body, ensure_ascii=False)}\n" for body in bodies)
    listed = json.dumps([asdict(each) for each in untranslated], indent=2, ensure_ascii=False)
    sets = Counter(json.dumps(body["success_criteria"]) for body in bodies)
    _write(folder / WORKS_FILE, lines)
    _write(folder / CRITERIA_FILE, _format_criteria(sets, len(bodies)))
    _write(folder / UNTRANSLATED_FILE, f"{listed}\n")
    return WrittenImport(len(bodies), len(sets), untranslated)


def _write(path: Path, text: str) -> None:
    with write_atomically(path) as file:
        file.write(text.encode())


def _format_criteria(sets: Counter[str], works: int) -> str:
    """Return the most frequent criteria as YAML, with a comment on how many works have them."""
    if not sets:
        return "# No work was written.\n"
    text, count = sets.most_common(1)[0]
    criteria: dict[str, Any] = json.loads(text)
    share = f"all {works}" if count == works else f"{count} of {works}"
    comment = f"# The success criteria of {share} works in {WORKS_FILE}, where each work has its own copy.\n"
    return comment + yaml.safe_dump(criteria, sort_keys=False, allow_unicode=True)

"""Imported files of other tools: any document is translated, listed or refused, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.openai_evals import import_openai_eval
from aex_cli.importing.output_files import write_import
from aex_cli.importing.promptfoo.importer import import_promptfoo
from aex_cli.importing.regex_writer import translate_regex
from aex_cli.importing.rows import DataRow
from aex_cli.offline.documents import InputDocument
from aex_outcomes.kernels.patterns import compile_pattern
from aex_outcomes.submission import check_submission
from aex_runtime.commandline import UserError
from tests.fuzz.effort import effort, soon
from tests.fuzz.submissions import CATALOG
from tests.fuzz.values import JSON, mutated
from tests.libs.cli.importing.grading import no_progress

TEXTS = st.sampled_from(
    [
        "{{item.a}}",
        "{{ sample.output_text }}",
        "{{x}}",
        "{{x",
        "{%",
        "a",
        "",
        "^.*$",
        "(?!a)",
        "[",
        "file://x",
        "\\d+",
        "a,b",
    ]
)
TYPES = st.sampled_from(
    [
        "string_check", "text_similarity", "python", "multi", "label_model", "equals", "contains-all", "not-icontains",
        "regex", "is-json", "word-count", "character-count", "levenshtein", "latency", "assert-set", "llm-rubric", "x",
    ]
)  # fmt: skip
NUMBERS = st.sampled_from([0, 1, 0.5, -1, 2, True, None, "1"])
ENTRIES = st.recursive(
    st.fixed_dictionaries(
        {"type": TYPES},
        optional={
            "name": TEXTS, "input": TEXTS, "reference": TEXTS, "value": TEXTS | NUMBERS | st.lists(TEXTS, max_size=2),
            "operation": st.sampled_from(["eq", "ne", "like", "ilike"]), "threshold": NUMBERS, "weight": NUMBERS,
            "evaluation_metric": st.sampled_from(["bleu", "rouge_l", "cosine"]), "pass_threshold": NUMBERS,
            "source": st.sampled_from(["def grade(sample, item):\n    return 1", "x ="]), "calculate_output": TEXTS,
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(["multi", "assert-set"])},
        optional={
            "assert": st.lists(inner, max_size=3), "graders": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "calculate_output": st.sampled_from(["a", "(a + b) / 2", "a * b"]), "threshold": NUMBERS, "weight": NUMBERS,
        },
    ),
    max_leaves=4,
)  # fmt: skip
ROWS = st.dictionaries(st.sampled_from("ax"), TEXTS | NUMBERS | JSON, max_size=2)
EVALS = st.fixed_dictionaries({"testing_criteria": st.lists(ENTRIES, max_size=3)})
TESTS = st.fixed_dictionaries(
    {}, optional={"vars": ROWS, "assert": st.lists(ENTRIES, max_size=3), "threshold": NUMBERS, "description": TEXTS}
)
CONFIGS = st.fixed_dictionaries(
    {"tests": st.lists(TESTS, max_size=2)},
    optional={"prompts": st.lists(TEXTS, max_size=2), "defaultTest": TESTS, "scenarios": JSON},
)
ALPHABET = st.sampled_from([*"ab.*+?^$|()[]{}\\dDsSwWbB-,0129 ", "é", "😀", "(?:", "\\u0041"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("imported")


def assert_written(imported: Any, folder: Path) -> None:
    written = write_import(imported, folder, "0", CATALOG, no_progress)
    lines = (folder / "works.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == written.works
    assert all(not check_submission(json.loads(line), CATALOG).problems for line in lines)
    assert all(each.kind and each.why for each in written.untranslated)


@effort()
@given(EVALS | mutated(EVALS) | JSON, st.none() | st.lists(ROWS, min_size=1, max_size=2))
def test_any_eval_is_translated_listed_or_refused(folder: Path, value: Any, rows: Any) -> None:
    numbered = rows and [DataRow(number, {"item": row}) for number, row in enumerate(rows, start=1)]
    try:
        imported = soon(import_openai_eval, InputDocument("e.json", value), numbered, (), CATALOG, no_progress)
    except UserError:
        return
    assert_written(imported, folder)


@effort()
@given(CONFIGS | mutated(CONFIGS) | JSON)
def test_any_configuration_is_translated_listed_or_refused(folder: Path, value: Any) -> None:
    try:
        imported = soon(import_promptfoo, InputDocument("c.yaml", value), None, no_progress)
    except UserError:
        return
    assert_written(imported, folder)


@effort()
@given(st.lists(ALPHABET, max_size=12).map("".join) | st.text(max_size=12))
def test_any_regular_expression_is_translated_or_refused(source: str) -> None:
    try:
        pattern = soon(translate_regex, source)
    except NotTranslatable:
        return
    compile_pattern(pattern)

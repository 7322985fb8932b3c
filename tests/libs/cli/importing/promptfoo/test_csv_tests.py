from pathlib import Path
from typing import Any

import pytest

from aex_cli.importing.promptfoo.csv_tests import parse_assertion, read_csv_tests
from aex_runtime.commandline import UserError
from tests.libs.cli.importing.grading import import_config


@pytest.mark.parametrize(
    ("text", "assertion"),
    [
        ("Paris", {"type": "equals", "value": "Paris"}),
        ("answer: 5", {"type": "equals", "value": "answer: 5"}),
        ("contains:a: b", {"type": "contains", "value": "a: b"}),
        ("not-icontains: no", {"type": "not-icontains", "value": " no"}),
        ("contains-any: a, b", {"type": "contains-any", "value": " a, b"}),
        ("levenshtein(3):abc", {"type": "levenshtein", "value": "abc", "threshold": 3.0}),
        ("latency(200)", {"type": "latency", "threshold": 200.0}),
        ("latency", {"type": "latency", "threshold": 0.75}),
        ("is-json", {"type": "is-json"}),
        ("grade: polite", {"type": "llm-rubric", "value": " polite"}),
        ("fn: output > 1", {"type": "javascript", "value": "output > 1"}),
        ("python: len(output)", {"type": "python", "value": "len(output)"}),
        ("some-new-type: x", {"type": "some-new-type", "value": " x"}),
        ("file://check.py", {"type": "equals", "value": "file://check.py"}),
    ],
)
def test_texts_are_assertions(text: str, assertion: dict[str, Any]) -> None:
    assert parse_assertion(text) == assertion


def test_rows_are_tests(tmp_path: Path) -> None:
    file = tmp_path / "tests.csv"
    file.write_text(
        "\ufefftask,__expected,__expected2,__description,__threshold,__metadata:x\n"
        '"a, b",contains:x,grade: fine,first,,m\nc,x,,,0.5,\n',
        encoding="utf-8",
    )
    works, untranslated = import_config({"prompts": ["{{task}}!"], "tests": []}, tmp_path, read_csv_tests(file))
    assert [(each["title"], each["input"]) for each in works] == [
        ("Imported promptfoo eval, test 1", {"prompt": "a, b!"}), ("Imported promptfoo eval, test 2", {"prompt": "c!"}),
    ]  # fmt: skip
    assert [(each["path"], each["kind"]) for each in untranslated] == [("tests.yaml#/0/assert/1", "needs_model")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1\n", "not as many fields"),
        (b"a\n1,2\n", "not as many fields"),
        (b"a\n", "has 0 rows"),
        (b"", "has 0 rows"),
        (b"a\n\xff\n", "not UTF-8"),
        (b'a\n"x"y\n', "is no CSV"),
        (b"a,__config:__expected:threshold\n1,2\n", "does not know"),
    ],
)
def test_bad_files_are_named(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tests.csv"
    file.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_csv_tests(file)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_csv_tests(tmp_path / "none.csv")

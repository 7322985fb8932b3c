"""`aex import`: its files, messages and exit codes."""

import json
import stat
from pathlib import Path

import pytest

from aex_cli.main import run_command_line

EVAL = {
    "name": "Capitals",
    "testing_criteria": [
        {
            "type": "string_check", "name": "equal", "input": "{{sample.output_text}}", "reference": "{{item.city}}",
            "operation": "eq",
        }
    ],
}  # fmt: skip
CONFIG = """
description: Greetings
prompts: ["Greet {{name}}"]
tests:
  - vars: {name: Ada}
    assert: [{type: contains, value: "{{name}}"}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "eval.json").write_text(json.dumps(EVAL))
    (tmp_path / "rows.jsonl").write_text(
        '{"item": {"city": "Paris", "country": "France"}}\n\n{"item": {"city": "Rome"}}\n'
    )
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    return tmp_path


def run(tool: str, folder: Path, file: str, *more: str) -> int:
    return run_command_line(["import", tool, str(folder / file), "--out", str(folder / "out" / "new"), *more])


def test_imported_eval_is_complete_and_valid(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(folder / "rows.jsonl")
    assert run("openai-evals", folder, "eval.json", "--data", data, "--max-cpc", "0.25") == 0
    out = folder / "out" / "new"
    assert capsys.readouterr().out == f"  works      2 in {out}/works.jsonl, with 1 set of criteria\n"
    assert json.loads((out / "untranslated.json").read_text()) == []
    lines = (out / "works.jsonl").read_text().splitlines()
    assert [json.loads(line)["budget"] for line in lines] == [{"max_cpc": "0.25"}] * 2
    assert stat.S_IMODE((out / "works.jsonl").stat().st_mode) == 0o600
    (folder / "work.json").write_text(lines[0])
    assert run_command_line(["lint", str(folder / "work.json"), "--strict"]) == 0
    assert run_command_line(["lint", str(out / "criteria.yaml")]) == 0
    (folder / "output.json").write_text('{"text": "Paris"}')
    command = ["verify", "--criteria", str(out / "criteria.yaml"), "--work", str(folder / "work.json")]
    assert run_command_line([*command, "--output", str(folder / "output.json")]) == 0


def test_untranslated_graders_give_exit_code_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = CONFIG.replace("assert: [", "assert: [{type: llm-rubric, value: polite}, {type: is-sql}, ")
    (folder / "promptfooconfig.yaml").write_text(text)
    assert run("promptfoo", folder, "promptfooconfig.yaml") == 1
    assert "not translated, see" in capsys.readouterr().out
    listed = json.loads((folder / "out" / "new" / "untranslated.json").read_text())
    assert [set(each) for each in listed] == [{"path", "kind", "why"}] * 2


def test_tests_come_from_a_data_file(folder: Path) -> None:
    (folder / "tests.jsonl").write_text('{"vars": {"name": "Bob"}, "assert": [{"type": "contains", "value": "Hi"}]}\n')
    assert run("promptfoo", folder, "promptfooconfig.yaml", "--data", str(folder / "tests.jsonl")) == 0
    [line] = (folder / "out" / "new" / "works.jsonl").read_text().splitlines()
    assert json.loads(line)["input"] == {"prompt": "Greet Bob"}


def test_a_task_that_agents_cannot_read_is_noted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.jsonl").write_text('{"item": {"city": "Paris"}}\n')
    assert run("openai-evals", folder, "eval.json", "--data", str(folder / "rows.jsonl")) == 0
    assert "--input" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        ({}, ["openai-evals", "no.json"], "there is no file"),
        ({"eval.json": "{"}, ["openai-evals", "eval.json"], "not JSON"),
        ({"eval.json": "[1]"}, ["openai-evals", "eval.json"], "has no graders"),
        ({}, ["openai-evals", "eval.json"], "name their file of JSON lines with --data"),
        ({}, ["openai-evals", "eval.json", "--data", "no.jsonl"], "there is no file"),
        ({"rows.jsonl": '{"a": 1}\n[]\n{"b": NaN}\n'}, ["openai-evals", "eval.json", "--data", "rows.jsonl"], "line 3"),
        ({"rows.jsonl": "\n"}, ["openai-evals", "eval.json", "--data", "rows.jsonl"], "has no rows"),
        ({}, ["openai-evals", "eval.json", "--data", "rows.jsonl", "--max-cpc", "-1"], "is no amount"),
        ({}, ["openai-evals", "eval.json", "--data", "rows.jsonl", "--input", "x"], "no row has the field x"),
        ({"c.yaml": "tests: !!python/name:os.system"}, ["promptfoo", "c.yaml"], "it has a tag"),
        ({"c.yaml": "tests: [{vars: 1, vars: 2}]"}, ["promptfoo", "c.yaml"], "occurs twice"),
        ({"c.yaml": "a: 1"}, ["promptfoo", "c.yaml"], "is no promptfoo configuration"),
        ({"c.yaml": "tests: [5]"}, ["promptfoo", "c.yaml"], "c.yaml /tests/0: it is no object; write a test"),
    ],
)  # fmt: skip
def test_bad_input_is_named_with_its_fix(
    files: dict[str, str], arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)
    tool, file, *more = arguments
    more = [str(folder / each) if each.endswith(".jsonl") else each for each in more]
    assert run(tool, folder, file, *more) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_a_folder_that_cannot_be_made_is_bad_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "out").write_text("a file")
    assert run("promptfoo", folder, "promptfooconfig.yaml") == 2
    assert "name another folder with --out" in capsys.readouterr().err

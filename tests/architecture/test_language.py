"""Language guard: each code is found with file and line, exceptions are used, broken data is refused."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.architecture.language import DATA, main

ROOT = Path(__file__).parents[2]
EVENTS = "tests/architecture/log_events.txt"
MODULE = "libs/one/src/one/planted.py"
README = "libs/one/README.md"
FILLER = "\n" * 60
LONG_SENTENCE = " ".join(["word"] * 26)
Run = Callable[..., tuple[int, list[str], str]]


@pytest.fixture
def guard(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs the guard over a clean tree with the given files in it."""
    monkeypatch.delenv("CI", raising=False)
    data = (ROOT / DATA).read_text(encoding="utf-8")
    write(tmp_path, DATA, data[: data.index("[exceptions]")] + "[exceptions]\n")
    write(tmp_path, EVENTS, "")
    for name in ("planted", "second", "third", "fourth"):
        write(tmp_path, f"libs/one/src/one/{name}.py", FILLER)

    def run(files: dict[str, str], *arguments: str, exceptions: str = "") -> tuple[int, list[str], str]:
        for path, text in files.items():
            write(tmp_path, path, text)
        if exceptions:
            with (tmp_path / DATA).open("a", encoding="utf-8") as table:
                table.write(exceptions)
        status = main(arguments, tmp_path)
        printed = capsys.readouterr()
        return status, printed.out.splitlines(), printed.err

    return run


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def commit(folder: Path, *subjects: str) -> str:
    """Commit nothing under each subject; return the ids of the commits, the newest last."""
    git = [shutil.which("git") or "git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for subject in subjects:
        subprocess.run([*git, "commit", "-qm", subject, "--allow-empty"], check=True)
    log = subprocess.run([*git, "log", "--reverse", "--format=%H"], check=True, capture_output=True, text=True)
    return log.stdout


LOG = "import structlog\n_log = structlog.get_logger()\n"
PLANTED = {
    "L01 in a function's name": ({MODULE: f"def told(): ...\n{FILLER}"}, f"{MODULE}:1: L01"),
    "L01 in an attribute": ({MODULE: f"class Number:\n    is_shown: bool\n{FILLER}"}, f"{MODULE}:2: L01"),
    "L01 in an instance's attribute": (
        {MODULE: f"def f(number):\n    number.places = 1\n{FILLER}"},
        f"{MODULE}:2: L01",
    ),
    "L01 in a parameter": ({MODULE: f"def f(number, whole): ...\n{FILLER}"}, f"{MODULE}:1: L01"),
    "L01 in a test": ({"tests/test_one.py": "\ndef test_it_is_posted_again(): ...\n"}, "tests/test_one.py:2: L01"),
    "L02 in a module": ({MODULE: f'"""What is left."""\n{FILLER}'}, f"{MODULE}:1: L02"),
    "L03 summary": ({MODULE: f'"""{"Long " * 20}docstring."""\n{FILLER}'}, f"{MODULE}:1: L03"),
    "L03 sentence": ({MODULE: f'"""Module.\n\nShort.\n{LONG_SENTENCE}.\n"""\n{FILLER}'}, f"{MODULE}:4: L03"),
    "L04 in a comment": ({MODULE: f"# It is held\n# against this.\n{FILLER}"}, f"{MODULE}:1: L04"),
    "L04 in Markdown": ({README: "# One\n\nBy now it is done.\n"}, f"{README}:3: L04"),
    "L04 in a template": ({"libs/one/src/one/page.html": "<p>whoever</p>"}, "libs/one/src/one/page.html:1: L04"),
    "L05 not listed": ({MODULE: f'{LOG}_log.bind(a=1).info("one_posted")\n{FILLER}'}, f"{MODULE}:3: L05"),
    "L05 not a constant": ({MODULE: f"{LOG}_log.error(name)\n{FILLER}"}, f"{MODULE}:3: L05"),
    "L05 not emitted": ({EVENTS: "one_posted\n"}, f"{EVENTS}:1: L05"),
    "L06": (
        {MODULE: f"class Number: ...\n{FILLER}", "libs/one/src/one/second.py": f"\nclass Number: ...\n{FILLER}"},
        f"{MODULE}:1: L06",
        "libs/one/src/one/second.py:2: L06",
    ),
    "L07 module": ({MODULE: "\n" * 251}, f"{MODULE}:1: L07"),
    "L07 short module": ({MODULE: "\n" * 59}, f"{MODULE}:1: L07"),
    "L07 function": ({MODULE: "\ndef f():\n" + "    ...\n" * 40 + FILLER}, f"{MODULE}:2: L07"),
    "L07 folder": ({"services/two/src/two/only.py": FILLER}, "services/two/src/two:1: L07"),
    "L08": ({MODULE: f"def f():\n    import json  # noqa: PLC0415\n{FILLER}"}, f"{MODULE}:2: L08"),
}


@pytest.mark.parametrize("case", PLANTED)
def test_planted_violation_is_found_at_its_line(case: str, guard: Run) -> None:
    files, *expected = PLANTED[case]
    status, lines, summary = guard(files)
    assert status == 1
    assert [line[: len(start)] for line, start in zip(lines, expected, strict=True)] == expected
    assert all(" → " in line for line in lines)
    assert summary == f"{len(expected)} findings: {case[:3]} {len(expected)}\n"


def test_clean_tree_has_no_findings(guard: Run) -> None:
    text = '"""Numbers of a report."""\n\ndef read_number():\n    import json  # noqa: PLC0415 heavy\n    import csv\n'
    listed = {EVENTS: "number_read\n", MODULE: f'{text}{LOG}_log.info("number_read")\n{FILLER}'}
    assert guard(listed) == (0, [], "0 findings\n")


def test_class_names_of_an_all_may_be_defined_twice(guard: Run) -> None:
    text = f"class Number: ...\nclass Deps: ...\n{FILLER}"
    files = {MODULE: f'__all__ = ["Number"]\n{text}', "libs/one/src/one/second.py": text}
    assert guard(files)[0] == 0


def test_paths_select_the_findings(guard: Run) -> None:
    files = {MODULE: f"told = 1\n{FILLER}", README: "nobody\n"}
    status, lines, _ = guard(files, "libs/one/README.md")
    assert (status, [line.split(" ")[1] for line in lines]) == (1, ["L04"])
    assert guard({}, "services")[0] == 0


def test_exception_excuses_its_finding_alone(guard: Run) -> None:
    row = f'L01 = [\n{{ path = "{MODULE}", text = "told", reason = "stored field" }},\n]\n'
    status, lines, _ = guard({MODULE: f"told = 1\nasked = 1\n{FILLER}"}, exceptions=row)
    assert (status, [line.split(" ")[0] for line in lines]) == (1, [f"{MODULE}:2:"])


def test_unused_exception_is_a_finding(guard: Run) -> None:
    row = f'L01 = [\n{{ path = "{MODULE}", text = "told", reason = "stored field" }},\n]\n'
    status, [line], _ = guard({}, exceptions=row)
    assert status == 1
    path, number, rest = line.split(":", 2)
    assert (path, rest[:4]) == (DATA, " L01")
    assert int(number) == (ROOT / DATA).read_text(encoding="utf-8").split("[exceptions]")[0].count("\n") + 3


SIZES = "".join(f'{{ path = "libs/{number}.py", reason = "one table" }},\n' for number in range(61))


@pytest.mark.parametrize(
    ("exceptions", "problem"),
    [
        ("L01 = [\n", "Invalid"),
        ('L01 = [{ path = "a.py" }]\n', "reason"),
        ('L01 = [{ path = "a.py", reason = "" }]\n', "must not be empty"),
        ('L10 = [{ path = "a.py", reason = "none" }]\n', "L10"),
        (f"L07 = [\n{SIZES}]\n", "more than 60"),
        ("[sizes]\n", "sizes"),
    ],
)
def test_broken_data_exits_2_and_names_the_problem(exceptions: str, problem: str, guard: Run) -> None:
    status, lines, message = guard({}, exceptions=exceptions)
    assert (status, lines, message.count("\n")) == (2, [], 1)
    assert message.startswith(DATA)
    assert problem in message


@pytest.mark.parametrize("path", [DATA, EVENTS])
def test_missing_data_exits_2(path: str, guard: Run, tmp_path: Path) -> None:
    (tmp_path / path).unlink()
    assert guard({})[::2] == (2, f"{path}: No such file or directory\n")


def test_table_missing_from_the_data_exits_2(guard: Run) -> None:
    assert guard({DATA: "[names]\n"})[::2] == (2, f"{DATA}: [names] words must be of type dict\n")


def test_commit_subjects_of_a_range_are_checked(guard: Run, tmp_path: Path) -> None:
    right = ["Retry 409 in the test of concurrent operators", "Process batches in order"]
    wrong = ["Retries come later", "What is left is read", "lower case", "Read again: it was late", "Read " + "a" * 68]
    commit(tmp_path, "First", *right, *wrong)
    status, lines, _ = guard({}, "--commits", f"HEAD~{len(right + wrong)}..HEAD")
    expected = {"subject of 73 characters", *(f"subject `{subject}`" for subject in wrong[:-1])}
    assert (status, {re.split(" (?:L09|→) ", line)[1] for line in lines}) == (1, expected)
    assert guard({}, "--commits", "none..HEAD")[0] == 2


def test_ci_checks_the_subjects_after_a_named_commit(
    guard: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, second, *_ = commit(tmp_path, "First", "Retries come later", "Lower the limit", "What is left is read").split()
    monkeypatch.setenv("CI", "true")
    data, after = (tmp_path / DATA).read_text(encoding="utf-8"), 'after = "{}"'.format
    known = re.search('after = "([0-9a-f]+)"', data)
    assert known is not None
    status, lines, _ = guard({DATA: data.replace(known[0], after(second))})
    assert (status, len(lines)) == (1, 1)
    assert "What is left is read" in lines[0]
    assert guard({DATA: data.replace(known[0], after(second[:8]))})[0] == 2
    assert guard({DATA: data})[0] == 0, "a clone without that commit has nothing to check"

"""Language guard: names, docstrings, phrases, log events and sizes of the repository.

Run `python -m tests.architecture.language [paths...]`. Exit 0 without findings, 1 with findings, 2 on unusable data.
"""

import argparse
import gc
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from tests.architecture import language_checks as checks
from tests.architecture.language_checks import Finding, SourceFile

DATA = "tests/architecture/language.toml"
_FOLDERS = ("libs", "services", "deploy", "tests")
_CODES = tuple(f"L0{number}" for number in range(1, 10))
_MAX_SIZE_EXCEPTIONS = 60
_LINES = ("module_lines_min", "module_lines_max", "folder_modules_min", "function_lines_max")
_SHAPE: dict[str, dict[str, type]] = {
    "names": {"words": dict, "scopes": list},
    "docstrings": {"first_words": list},
    "sizes": dict.fromkeys((*_LINES, "summary_characters", "sentence_words", "subject_characters"), int),
    "log_events": {"forwarders": list},
    "commits": {"after": str, "verbs": list, "not_verbs": list},
    "phrases": {},
    "exceptions": {},
}


class UnusableData(Exception):
    """A file that is missing or broken; the message names it and the problem."""


def read_text(root: Path, path: str) -> str:
    try:
        return (root / path).read_text(encoding="utf-8")
    except OSError as error:
        raise UnusableData(f"{path}: {error.strerror}") from error


def read_data(root: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(read_text(root, DATA))
    except ValueError as error:
        raise UnusableData(f"{DATA}: {error}") from error
    for table, keys in _SHAPE.items():
        if not isinstance(data.get(table), dict):
            raise UnusableData(f"{DATA}: table [{table}] is missing")
        for key, kind in keys.items():
            if not isinstance(data[table].get(key), kind):
                raise UnusableData(f"{DATA}: [{table}] {key} must be of type {kind.__name__}")
    for code, rows in data["exceptions"].items():
        for row in rows if code in _CODES and isinstance(rows, list) else [code]:
            if not isinstance(row, dict) or not {"path", "reason"} <= row.keys() <= {"path", "text", "reason"}:
                raise UnusableData(f"{DATA}: [exceptions] {code}: a row has path, reason and at most a text: {row}")
            if not all(isinstance(value, str) and value.strip() for value in row.values()):
                raise UnusableData(f"{DATA}: [exceptions] {code}: path, text and reason must not be empty: {row}")
    if not re.fullmatch("[0-9a-f]{40}", data["commits"]["after"]):
        raise UnusableData(f"{DATA}: [commits] after must be the full id of a commit")
    if len(data["exceptions"].get("L07", ())) > _MAX_SIZE_EXCEPTIONS:
        raise UnusableData(f"{DATA}: [exceptions] L07 has more than {_MAX_SIZE_EXCEPTIONS} rows")
    return data


def read_files(root: Path) -> Iterator[SourceFile]:
    paths = list(root.glob("*.md"))
    for folder in _FOLDERS:
        for parent, folders, names in os.walk(root / folder):
            folders[:] = [name for name in folders if not name.startswith((".", "__pycache__", "node_modules"))]
            paths += [Path(parent, name) for name in names if name.endswith((".py", ".md", ".html"))]
    for name in sorted(path.relative_to(root).as_posix() for path in paths):
        try:
            yield checks.parse(name, read_text(root, name))
        except SyntaxError as error:
            raise UnusableData(f"{name}: line {error.lineno} is not Python: {error.msg}") from error


def check_files(root: Path, data: dict[str, Any]) -> Iterator[Finding]:
    files, pattern = list(read_files(root)), checks.phrase_pattern(data["phrases"])
    sources = [file for file in files if file.is_source]
    for file in files:
        yield from checks.check_names(file, data)
        yield from checks.check_docstrings(file, data)
        yield from checks.check_phrases(file, data["phrases"], pattern)
    for file in sources:
        yield from checks.check_inline_imports(file)
    yield from checks.check_log_events(sources, data["log_events"]["forwarders"], read_text(root, checks.EVENTS))
    yield from checks.check_class_names(sources)
    yield from checks.check_sizes(sources, data["sizes"])


def check_subjects(root: Path, data: dict[str, Any], commits: str) -> Iterator[Finding]:
    rules, limit = data["commits"], data["sizes"]["subject_characters"]
    log = _git(root, "log", "--no-merges", "--format=%h %s", commits)
    if log is None:
        raise UnusableData(f"{commits}: git knows no such range of commits")
    for commit, _, subject in (line.partition(" ") for line in log.splitlines()):
        verb = subject.split(" ")[0]
        is_verb = verb in rules["verbs"] or not verb.endswith(("s", "ed", "ing"))
        if len(subject) > limit:
            yield Finding(commit, 1, "L09", subject, f"subject of {len(subject)} characters", f"at most {limit}")
        if ":" in subject or not verb[:1].isupper() or not is_verb or verb in rules["not_verbs"]:
            yield Finding(commit, 1, "L09", subject, f"subject `{subject}`", "an imperative sentence without colon")


def new_commits(root: Path, data: dict[str, Any]) -> str | None:
    """Return the range of commits to check in CI; None elsewhere and in a clone that lacks its start."""
    start = data["commits"]["after"]
    is_known = os.environ.get("CI") and _git(root, "merge-base", "--is-ancestor", start, "HEAD") is not None
    return f"{start}..HEAD" if is_known else None


def _git(root: Path, *arguments: str) -> str | None:
    result = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else None


def apply_exceptions(root: Path, data: dict[str, Any], found: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings without exception, then one for each exception that matches nothing."""
    lines = read_text(root, DATA).splitlines()
    unused = {(code, *row.values()): row for code, rows in data["exceptions"].items() for row in rows if code != "L09"}
    for finding in found:
        matching = [row for row in data["exceptions"].get(finding.code, ()) if _matches(row, finding)]
        for row in matching:
            unused.pop((finding.code, *row.values()), None)
        if not matching:
            yield finding
    for (code, *values), row in unused.items():
        line = next((number for number, text in enumerate(lines, 1) if all(f'"{one}"' in text for one in values)), 1)
        yield Finding(DATA, line, code, row["path"], f"exception for {row['path']} matches nothing", "no such row")


def _matches(row: dict[str, str], finding: Finding) -> bool:
    return fnmatchcase(finding.path, row["path"]) and fnmatchcase(finding.subject, row.get("text", "*"))


def main(arguments: Sequence[str], root: Path) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.architecture.language")
    parser.add_argument("paths", nargs="*", help="show findings in these files and folders only")
    parser.add_argument("--commits", metavar="RANGE", help="check the subjects of these commits")
    options = parser.parse_args(arguments)
    try:
        data = read_data(root)
        found = list(check_files(root, data))
        commits = options.commits or new_commits(root, data)
        found += check_subjects(root, data, commits) if commits else []
    except UnusableData as error:
        sys.stderr.write(f"{error}\n")
        return 2
    selected = [os.path.relpath((root / path).resolve(), root.resolve()) for path in options.paths]
    visible = [
        finding
        for finding in sorted(apply_exceptions(root, data, found))
        if not selected or any(map(PurePath(finding.path).is_relative_to, selected))
    ]
    for finding in visible:
        sys.stdout.write(f"{finding.path}:{finding.line}: {finding.code} {finding.text} → {finding.use}\n")
    counts = ", ".join(f"{code} {count}" for code, count in sorted(Counter(one.code for one in visible).items()))
    sys.stderr.write(f"{len(visible)} findings{counts and ': '}{counts}\n")
    return 1 if visible else 0


if __name__ == "__main__":
    gc.disable()  # collecting among the trees takes a third of the time
    sys.exit(main(sys.argv[1:], Path(__file__).parents[2]))

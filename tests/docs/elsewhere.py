"""Commands that need what a test has not: what can be known about them without running them."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from tests.docs.documents import ROOT

_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_ASSIGNED = re.compile(r"(?:^|[\s;])(?:export )?([A-Za-z_][A-Za-z0-9_]*)=|\bfor (\w+) in\b")
_OF_EVERY_SHELL = {"HOME", "PATH", "PWD"}
_PATH = re.compile(
    r"[\w.*-]+(?:/[\w.*-]+)+|[\w-]+(?:\.[\w-]+)*\.(?:csv|example|json|md|pem|py|sh|tf|tfvars|toml|ya?ml)"
)
_NO_PATHS = {"linux/amd64"}
"""Words with a slash that name something else."""


def unset_variables(script: str) -> list[str]:
    """Return the variables that are read and never assigned; a test of its own knows those of the suite."""
    known = {name for each in _ASSIGNED.findall(script) for name in each} | _OF_EVERY_SHELL
    return sorted({name for name in _VARIABLE.findall(script) if name not in known and not name.startswith("AEX_")})


def missing_paths(script: str) -> list[str]:
    """Return the paths that are neither in the repository nor written by an earlier command."""
    folder, written, missing = ROOT, set[str](), []
    for line in script.splitlines():
        words = _words(line)
        if words[:1] == ["cd"]:
            folder /= words[1]
        if words[:1] == ["cp"]:
            written.add(words[-1])
        written |= {after for word, after in pairwise(words) if word in {">", ">>"}}
        missing += [each for each in _paths(words) if each not in written and not _is_there(folder, each)]
    return missing


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # a quotation over several lines
        return line.split()


def _paths(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        value = word.partition("=")[2] if word.startswith("-") and "=" in word else word
        pattern = _VARIABLE.sub("*", value)
        if _PATH.fullmatch(pattern) and not pattern.startswith("*") and value not in _NO_PATHS:
            yield pattern


def _is_there(folder: Path, pattern: str) -> bool:
    return any(folder.glob(pattern)) or any(ROOT.glob(pattern))

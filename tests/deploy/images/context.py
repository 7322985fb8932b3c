"""What `.dockerignore` lets into a build: the last pattern that matches a path, or a folder above it, decides."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.libs.cli.suites import ROOT


def patterns() -> list[str]:
    """Those of the repository's `.dockerignore`."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def is_let_in(path: str, rules: Iterable[str]) -> bool:
    """Whether a file is part of the context."""
    let_in = True
    for rule in rules:
        if _matches(rule.removeprefix("!"), path):
            let_in = rule.startswith("!")
    return let_in


def copy_context(into: Path) -> None:
    """The context of a build, of what the repository has: committed files, and those that may be."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    rules = patterns()
    for name in filter(None, listed.stdout.split("\0")):
        if is_let_in(name, rules) and (ROOT / name).exists():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, into / name)


def _matches(pattern: str, path: str) -> bool:
    """`*` within a folder, `**` across folders, and everything below what matches."""
    expression = "".join(
        {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}.get(part, part if part.startswith("[") else re.escape(part))
        for part in re.findall(r"\*\*/|\*|\?|\[[^]]+\]|[^*?\[]+", pattern)
    )
    return re.fullmatch(f"{expression}(?:/.*)?", path) is not None

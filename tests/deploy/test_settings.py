"""Each setting has one name: in code, compose file, `.env.example`, Dockerfiles and pages."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from tests.deploy.documents import (
    COMPOSE_FILE,
    DOCKERFILES,
    EXAMPLE,
    NOT_OF_SERVICES,
    PAGES,
    ROOT,
    SOURCES,
    VARIABLE,
    check_compose,
    check_dockerfile,
    check_example,
    check_page,
    find_names,
    known_variables,
    uncomment_defaults,
)
from tests.parts.settings_table import (
    SERVICES,
    SettingsTable,
    all_names,
    find_unknown,
    list_variables,
    load_settings_class,
    load_settings_table,
)

TABLE = load_settings_table()
TEXTS = {path: path.read_text(encoding="utf-8") for path in (COMPOSE_FILE, EXAMPLE, *DOCKERFILES.values(), *PAGES)}
CHECKS: dict[Path, Callable[[str, SettingsTable], list[str]]] = {
    COMPOSE_FILE: check_compose,
    EXAMPLE: partial(check_example, compose=TEXTS[COMPOSE_FILE]),
    **{path: partial(check_dockerfile, service) for service, path in DOCKERFILES.items()},
    **{path: partial(check_page, str(path.relative_to(ROOT))) for path in PAGES},
}


@pytest.mark.parametrize("path", CHECKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_document_and_code_name_the_same_settings(path: Path) -> None:
    assert CHECKS[path](TEXTS[path], TABLE) == []


def test_modules_name_known_settings() -> None:
    known = known_variables(TABLE)
    names = {str(path): find_names(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert [problem for path in names for problem in find_unknown(path, names[path], known)] == []


@pytest.mark.parametrize(
    "path", [path for path in CHECKS if find_names(TEXTS[path])], ids=lambda path: str(path.relative_to(ROOT))
)
def test_name_changed_at_any_position_of_a_document_is_reported(path: Path) -> None:
    text = TEXTS[path]
    for match in VARIABLE.finditer(text):
        renamed = f"{text[: match.end()]}_X{text[match.end() :]}"
        problems = CHECKS[path](renamed, TABLE) if match[0] not in NOT_OF_SERVICES else [match[0]]
        assert any(match[0] in problem for problem in problems), (match[0], text[: match.end()].count("\n") + 1)


@pytest.mark.parametrize("service", SERVICES)
def test_added_setting_is_required_in_example_compose_file_and_readme(service: str) -> None:
    class Settings(load_settings_class(service)):  # type: ignore[misc] # any of the four
        added: Annotated[int, Field(ge=0)] = 0

    table: SettingsTable = {**TABLE, service: list_variables(Settings)}
    readme = ROOT / "services" / service / "README.md"
    problems = {path: CHECKS[path](TEXTS[path], table) for path in (EXAMPLE, COMPOSE_FILE, readme)}
    assert problems == {
        EXAMPLE: [f".env.example: {service} lacks AEX_ADDED"],
        COMPOSE_FILE: [f"docker-compose.yml: {service} lacks AEX_ADDED"],
        readme: [f"services/{service}/README.md: AEX_ADDED is missing"],
    }


@pytest.mark.parametrize("service", SERVICES)
def test_example_shows_the_defaults_of_the_code(service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TABLE[service]:
        monkeypatch.delenv(name, raising=False)
    settings, file = load_settings_class(service), tmp_path / ".env"
    file.write_text(uncomment_defaults(TEXTS[EXAMPLE]), encoding="utf-8")
    assert settings(_env_file=file) == settings()
    file.write_text("AEX_MAX_CONNECTIONS=999\n", encoding="utf-8")
    assert settings(_env_file=file) != settings()


def test_variables_that_no_service_reads_are_read_elsewhere() -> None:
    code = [*SOURCES, *ROOT.glob("tests/**/*.py"), ROOT / "Makefile"]
    texts = [path.read_text(encoding="utf-8") for path in code if path.parent != Path(__file__).parent]
    assert [name for name in NOT_OF_SERVICES if not any(name in text for text in texts)] == []
    assert set(NOT_OF_SERVICES) & all_names(TABLE) == set()

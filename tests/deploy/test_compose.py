"""The compose file: what Docker Compose resolves, and how its containers are confined."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from aex_runtime.process import StopBounds
from tests.deploy.documents import COMPOSE_FILE, EXAMPLE, ROOT, uncomment_defaults
from tests.parts.compose import COMMAND, EMULATORS, container_environment, resolve_compose, run_compose
from tests.parts.dockerfiles import TOOL, dockerfile_path
from tests.parts.settings_table import READINESS, SERVICES, create_app, load_settings_class, port_of

TEXT = COMPOSE_FILE.read_text(encoding="utf-8")
WRITTEN: dict[str, Any] = yaml.safe_load(TEXT)
SCHEMA = json.loads(files("check_jsonschema").joinpath("builtin_schemas/vendor/compose-spec.json").read_text())
OWN_SERVICES = (*SERVICES, COMMAND)


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return resolve_compose()


def test_file_follows_the_schema_of_compose_files() -> None:
    jsonschema.validate(WRITTEN, SCHEMA)
    with pytest.raises(jsonschema.ValidationError, match="stop_grace"):
        jsonschema.validate({"services": {"a": {"image": "a", "stop_grace": "1s"}}}, SCHEMA)


def test_docker_compose_accepts_the_file_and_refuses_an_error(services: dict[str, Any], tmp_path: Path) -> None:
    assert set(services) == {*EMULATORS, *OWN_SERVICES}
    broken = tmp_path / "docker-compose.yml"
    broken.write_text(TEXT.replace("condition: service_healthy", "condition: service_wealthy", 1), encoding="utf-8")
    refused = run_compose(files=[broken])
    assert refused.returncode != 0
    assert "condition" in refused.stderr


@pytest.mark.parametrize("service", [*OWN_SERVICES, *EMULATORS])
def test_container_is_confined(services: dict[str, Any], service: str) -> None:
    container = services[service]
    assert (container["cap_drop"], container["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
    assert not {"privileged", "cap_add", "user"} & set(container), "the image sets the user"
    if service in EMULATORS:
        assert "ports" not in container, "emulators authenticate no caller"
        return
    assert container["read_only"] is True
    writable = [each["target"] for each in container["volumes"] if not each.get("read_only")]
    assert writable == [container_environment(container)["AEX_DATA_DIR"]] == ["/data"]
    assert container["image"] == (COMMAND if service == COMMAND else f"aex-{service}")
    build = WRITTEN["services"][service]["build"]
    assert (build["context"], ROOT / build["dockerfile"]) == (
        ".",
        dockerfile_path(TOOL if service == COMMAND else service),
    )


@pytest.mark.parametrize("service", SERVICES)
def test_files_in_settings_are_in_the_mounted_folder(services: dict[str, Any], service: str) -> None:
    (mount,) = [each for each in services[service]["volumes"] if each["type"] == "bind"]
    folder = Path(mount["source"])
    assert (mount["read_only"], folder) == (True, ROOT / "deploy" / "config")
    for document in (EXAMPLE, folder / "README.md"):
        named = re.findall(r"(?<![\w./-])(/\w+)/[\w.-]+\.(?:yaml|json)\b", document.read_text(encoding="utf-8"))
        assert set(named) == {mount["target"]}, document


def test_emulators_are_healthy_before_services_and_services_before_the_command(services: dict[str, Any]) -> None:
    required = {name: service.get("depends_on", {}) for name, service in services.items()}
    assert {name: set(each) for name, each in required.items()} == {
        **{key: set() for key in EMULATORS},
        **{key: set(EMULATORS) for key in SERVICES},
        COMMAND: {"work-publisher"},
    }
    assert {each["condition"] for others in required.values() for each in others.values()} == {"service_healthy"}


@pytest.mark.parametrize("service", SERVICES)
def test_healthy_means_ready(services: dict[str, Any], service: str, tmp_path: Path) -> None:
    assert services[service]["healthcheck"]["test"] == ["CMD", "python", "-m", "aex_runtime.probe", READINESS]
    app = create_app(service, load_settings_class(service)(data_dir=tmp_path / ".aex"))
    assert READINESS in {getattr(route, "path", "") for route in app.routes}
    assert float(services[service]["stop_grace_period"].removesuffix("s")) > StopBounds().hard_exit_s


def test_services_use_the_emulators_at_their_addresses_in_one_project(services: dict[str, Any]) -> None:
    (project,) = re.findall(r"--project=(\S+)", " ".join(services["pubsub"]["command"]))
    expected = {"AEX_STORE_URL": f"firestore://{project}", "AEX_BUS_URL": f"pubsub://{project}"}
    for emulator in EMULATORS:
        (port,) = re.findall(r"--host-port=0\.0\.0\.0:(\d+)", " ".join(services[emulator]["command"]))
        assert services[emulator]["healthcheck"]["test"][-1] == f"http://127.0.0.1:{port}/"
        expected[f"{emulator.upper()}_EMULATOR_HOST"] = f"{emulator}:{port}"
    for service in OWN_SERVICES:
        assert expected.items() <= container_environment(services[service]).items()
    assert services[COMMAND]["environment"] == services["settlement"]["environment"]
    assert services[COMMAND]["profiles"] == ["tools"]


@pytest.mark.parametrize("service", SERVICES)
def test_service_is_published_on_loopback_unless_configured(
    services: dict[str, Any], service: str, tmp_path: Path
) -> None:
    (port,) = services[service]["ports"]
    own = port_of(service)
    assert (port["host_ip"], port["published"], port["target"]) == ("127.0.0.1", str(own), own)
    variable = f"{service.upper().replace('-', '_')}_PORT"
    (tmp_path / ".env").write_text(f"LISTEN_ADDRESS=10.0.0.1\n{variable}=9000\n", encoding="utf-8")
    (moved,) = resolve_compose(tmp_path / ".env")[service]["ports"]
    assert (moved["host_ip"], moved["published"], moved["target"]) == ("10.0.0.1", "9000", own)


def test_secret_reaches_only_its_service(tmp_path: Path) -> None:
    issuers = '[{"iss": "a$b", "roles": ["consumer"], "jwks": "/config/a.json", "algorithms": ["RS256"]}]'
    (tmp_path / ".env").write_text(f"AEX_REVIEW_API_KEY=secret\nAEX_ISSUERS='{issuers}'\n", encoding="utf-8")
    environments = {
        name: container_environment(each)
        for name, each in resolve_compose(tmp_path / ".env").items()
        if name in OWN_SERVICES
    }
    assert {name for name, each in environments.items() if "AEX_REVIEW_API_KEY" in each} == {"verification"}
    assert {each["AEX_ISSUERS"] for each in environments.values()} == {issuers}


def test_example_means_the_same_with_its_defaults_uncommented(services: dict[str, Any], tmp_path: Path) -> None:
    uncommented = tmp_path / ".env"
    uncommented.write_text(uncomment_defaults(EXAMPLE.read_text(encoding="utf-8")), encoding="utf-8")
    example, defaults = resolve_compose(EXAMPLE), resolve_compose(uncommented)
    assert example == services
    for service in SERVICES:
        first, second = (
            {name: value for name, value in container_environment(each[service]).items() if value}
            for each in (example, defaults)
        )
        assert first.items() <= second.items()
        read: list[dict[str, Any]] = [
            {name.removeprefix("AEX_").lower(): value for name, value in each.items()} for each in (first, second)
        ]
        settings = load_settings_class(service)
        assert settings(**read[0]) == settings(**read[1])
        assert {**example[service], "environment": None} == {**defaults[service], "environment": None}

"""The compose file is one, starts things in an order that works, and keeps its containers in."""

import json
import re
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from aex_cli.suite.service_spec import MODULES
from aex_runtime.process import StopBounds
from tests.deploy.compose.composed import EMULATORS, TOOL, composed, environment_of, read_by_compose, start_order
from tests.deploy.cross_check import COMPOSE_FILE, EXAMPLE, ROOT
from tests.deploy.declared import READINESS, SERVICES, port_of
from tests.deploy.images.dockerfile import path_of, read
from tests.deploy.naming import filled_in

TEXT = COMPOSE_FILE.read_text(encoding="utf-8")
WRITTEN: dict[str, Any] = yaml.safe_load(TEXT)
SCHEMA = json.loads(files("check_jsonschema").joinpath("builtin_schemas/vendor/compose-spec.json").read_text())
OURS = (*SERVICES, TOOL)
UID = "10001:10001"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = composed()["services"]
    return found


def test_it_is_a_compose_file_by_the_specifications_schema() -> None:
    jsonschema.validate(WRITTEN, SCHEMA)
    with pytest.raises(jsonschema.ValidationError, match="stop_grace"):
        jsonschema.validate({"services": {"a": {"image": "a", "stop_grace": "1s"}}}, SCHEMA)


def test_docker_compose_takes_it_and_would_refuse_a_typing_error(tmp_path: Path) -> None:
    assert set(composed()["services"]) == {*EMULATORS, *OURS}
    broken = tmp_path / "docker-compose.yml"
    broken.write_text(TEXT.replace("condition: service_healthy", "condition: service_wealthy", 1), encoding="utf-8")
    told = read_by_compose(files=[broken])
    assert told.returncode != 0
    assert "condition" in told.stderr


def test_two_commands_start_it_and_print_a_token() -> None:
    assert "docker compose up --build --wait" in TEXT
    assert f"docker compose run --rm {TOOL} token --role consumer --sub acme" in TEXT


@pytest.mark.parametrize("service", OURS)
def test_it_is_built_from_its_own_dockerfile_and_the_image_may_not_be_root(service: str) -> None:
    build = WRITTEN["services"][service]["build"]
    assert build["context"] == "."
    path = ROOT / build["dockerfile"]
    assert path == path_of("aex-cli" if service == TOOL else service)
    assert read(path.read_text(encoding="utf-8")).final.last("USER").rest == UID
    assert "user" not in WRITTEN["services"][service], "the image says who it runs as"


@pytest.mark.parametrize("service", [*OURS, *EMULATORS])
def test_a_container_has_no_capability_and_gains_none(services: dict[str, Any], service: str) -> None:
    assert services[service]["cap_drop"] == ["ALL"]
    assert services[service]["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in services[service]
    assert "cap_add" not in services[service]


@pytest.mark.parametrize("service", OURS)
def test_our_containers_write_to_their_data_and_to_memory_alone(services: dict[str, Any], service: str) -> None:
    assert services[service]["read_only"] is True
    writable = [each["target"] for each in services[service]["volumes"] if not each.get("read_only")]
    assert writable == [environment_of(services[service])["AEX_DATA_DIR"]] == ["/data"]


@pytest.mark.parametrize("service", SERVICES)
def test_files_that_settings_name_are_where_the_folder_for_them_is_mounted(
    services: dict[str, Any], service: str
) -> None:
    (mount,) = [each for each in services[service]["volumes"] if each["type"] == "bind"]
    folder = Path(mount["source"])
    assert mount["read_only"] is True
    for document in (EXAMPLE, folder / "README.md"):
        text = document.read_text(encoding="utf-8")
        named = re.findall(r"(?<![\w./-])(/\w+)/[\w.-]+\.(?:yaml|json)\b", text)
        assert set(named) == {mount["target"]}, document
    assert folder == ROOT / "deploy" / "config"
    assert f"`{mount['target']}`" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("service", OURS)
def test_the_data_directory_is_one_that_the_image_makes_for_its_user(service: str) -> None:
    # A new volume takes over who owns the folder that it is mounted on.
    image = read((ROOT / WRITTEN["services"][service]["build"]["dockerfile"]).read_text(encoding="utf-8")).final
    assert image.environment["AEX_DATA_DIR"] == "/data"
    (made,) = [each.rest for each in image.of("RUN") if "/data" in each.rest]
    assert "--owner=10001 --group=10001 --mode=0700 /data" in made


def test_emulators_are_ready_before_services_and_services_before_the_tool(services: dict[str, Any]) -> None:
    order = start_order(services)
    places = {name: order.index(name) for name in order}
    assert max(places[each] for each in EMULATORS) < min(places[each] for each in SERVICES)
    assert places[TOOL] > places["work-publisher"]
    for service in services.values():
        assert {each["condition"] for each in service.get("depends_on", {}).values()} <= {"service_healthy"}
        assert all("healthcheck" in services[each] for each in service.get("depends_on", {}))


@pytest.mark.parametrize("service", SERVICES)
def test_healthy_means_ready_and_is_asked_of_a_path_that_the_service_has(
    services: dict[str, Any], service: str, tmp_path: Path
) -> None:
    probe = services[service]["healthcheck"]["test"]
    assert probe == ["CMD", "python", "-m", "aex_runtime.probe", READINESS]
    module = import_module(f"{MODULES[service]}.main")
    settings = import_module(f"{MODULES[service]}.settings").Settings(data_dir=tmp_path / ".aex")
    paths = {getattr(route, "path", "") for route in module.create_app(settings).routes}
    assert READINESS in paths


def test_records_and_events_are_in_the_one_project_that_the_emulators_are_told(services: dict[str, Any]) -> None:
    (project,) = [each.partition("=")[2] for each in services["pubsub"]["command"] if each.startswith("--project=")]
    for service in OURS:
        told = environment_of(services[service])
        assert (told["AEX_STORE_URL"], told["AEX_BUS_URL"]) == (f"firestore://{project}", f"pubsub://{project}")


@pytest.mark.parametrize("service", OURS)
def test_no_two_images_have_one_name(services: dict[str, Any], service: str) -> None:
    assert services[service]["image"] == (TOOL if service == TOOL else f"aex-{service}")


@pytest.mark.parametrize("emulator", EMULATORS)
def test_an_emulator_is_asked_where_it_listens_and_reached_by_its_services_there(
    services: dict[str, Any], emulator: str
) -> None:
    (option,) = [each for each in services[emulator]["command"] if each.startswith("--host-port=0.0.0.0:")]
    port = option.rpartition(":")[2]
    assert services[emulator]["healthcheck"]["test"][-1] == f"http://127.0.0.1:{port}/"
    variable = f"{emulator.upper()}_EMULATOR_HOST"
    assert {environment_of(services[each])[variable] for each in OURS} == {f"{emulator}:{port}"}
    assert "ports" not in services[emulator], "it asks nobody who they are"


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_can_be_reached_from_this_machine_alone_unless_told_otherwise(
    services: dict[str, Any], service: str, tmp_path: Path
) -> None:
    (published,) = services[service]["ports"]
    assert (published["host_ip"], published["published"], published["target"]) == (
        "127.0.0.1",
        str(port_of(service)),
        port_of(service),
    )
    variable = f"{service.upper().replace('-', '_')}_PORT"
    (tmp_path / ".env").write_text(f"LISTEN_ADDRESS=10.0.0.1\n{variable}=9000\n", encoding="utf-8")
    (moved,) = composed(tmp_path / ".env")["services"][service]["ports"]
    assert (moved["host_ip"], moved["published"], moved["target"]) == ("10.0.0.1", "9000", port_of(service))


@pytest.mark.parametrize("service", SERVICES)
def test_a_container_is_given_longer_to_stop_than_the_service_takes(services: dict[str, Any], service: str) -> None:
    assert float(services[service]["stop_grace_period"].removesuffix("s")) > StopBounds().hard_exit_s


def test_a_secret_in_the_env_file_reaches_the_service_that_it_is_for_alone(tmp_path: Path) -> None:
    issuers = '[{"iss": "a$b", "roles": ["consumer"], "jwks": "/config/a.json", "algorithms": ["RS256"]}]'
    (tmp_path / ".env").write_text(f"AEX_REVIEW_API_KEY=secret\nAEX_ISSUERS='{issuers}'\n", encoding="utf-8")
    services = composed(tmp_path / ".env")["services"]
    given = {name for name in OURS if "AEX_REVIEW_API_KEY" in environment_of(services[name])}
    assert given == {"verification"}
    assert {environment_of(services[name])["AEX_ISSUERS"] for name in OURS} == {issuers}


def test_the_example_as_it_stands_and_with_all_its_defaults_in_force_mean_the_same(tmp_path: Path) -> None:
    in_force = tmp_path / ".env"
    in_force.write_text(filled_in(EXAMPLE.read_text(encoding="utf-8")), encoding="utf-8")
    example, defaults = composed(EXAMPLE)["services"], composed(in_force)["services"]
    assert example == composed()["services"]
    for service in SERVICES:
        settings = import_module(f"{MODULES[service]}.settings").Settings
        fields = [
            {name: value for name, value in environment_of(each[service]).items() if value}
            for each in (example, defaults)
        ]
        assert fields[0].items() <= fields[1].items()
        assert settings(**_lowered(fields[0])) == settings(**_lowered(fields[1]))
        assert {**example[service], "environment": None} == {**defaults[service], "environment": None}


def _lowered(environment: dict[str, str]) -> dict[str, str]:
    """Variables as arguments of the class."""
    return {name.removeprefix("AEX_").lower(): value for name, value in environment.items()}


def test_the_tool_reads_what_every_service_reads(services: dict[str, Any]) -> None:
    assert services[TOOL]["environment"] == services["settlement"]["environment"]
    assert services[TOOL]["profiles"] == ["tools"]

import socket
from pathlib import Path

import pytest

from aex_cli.suite.service_spec import (
    build_process_environment,
    build_suite_environment,
    plan_suite,
    require_free_ports,
)
from aex_runtime.commandline import UserError
from tests.libs.cli.suites import free_ports

SPECS = plan_suite(8081, replicas=2)


def test_replicas_take_four_consecutive_ports_each_and_their_number_as_name() -> None:
    specs = plan_suite(8081, replicas=3)
    names = ["work-publisher", "verification", "governance", "settlement"]
    labels = [*names, *(f"{name}-2" for name in names), *(f"{name}-3" for name in names)]
    assert [(spec.label, spec.url) for spec in specs] == [
        (label, f"http://127.0.0.1:{8081 + position}") for position, label in enumerate(labels)
    ]
    assert specs[0].url_variable == "AEX_WORK_PUBLISHER_URL"
    assert specs[7].url_variable == specs[3].url_variable == "AEX_SETTLEMENT_URL"


def test_all_taken_ports_are_named_with_their_process_and_a_free_base() -> None:
    base = free_ports(8)
    require_free_ports(plan_suite(base, replicas=2))
    taken = rf"2 ports are taken: {base} \(work-publisher\), {base + 6} \(governance-2\)"
    everywhere = "0.0.0.0"  # noqa: S104 listening everywhere blocks loopback too
    with socket.create_server(("127.0.0.1", base)), socket.create_server((everywhere, base + 6)):
        with pytest.raises(UserError, match=taken) as refused:
            require_free_ports(plan_suite(base, replicas=2))
        require_free_ports(plan_suite(int(refused.value.text().rpartition("--port-base ")[2]), replicas=2))


def of_process(position: int, **inherited: str) -> dict[str, str]:
    return build_process_environment(SPECS[position], SPECS, build_suite_environment(inherited, Path("/data"), None))


def test_each_process_calls_the_services_of_its_own_replica() -> None:
    first, second = of_process(1), of_process(5)
    assert (first["AEX_PORT"], second["AEX_PORT"]) == ("8082", "8086")
    assert (first["AEX_GOVERNANCE_URL"], second["AEX_GOVERNANCE_URL"]) == (
        "http://127.0.0.1:8083",
        "http://127.0.0.1:8087",
    )
    assert first["AEX_DATA_DIR"] == second["AEX_DATA_DIR"] == "/data"


def test_replicas_have_instance_names_that_each_start_repeats() -> None:
    assert of_process(3)["AEX_INSTANCE"] != of_process(7)["AEX_INSTANCE"]
    assert of_process(7)["AEX_INSTANCE"] == of_process(7)["AEX_INSTANCE"] == "suite-2"


def test_instance_name_is_the_suites_and_absent_on_a_shared_store() -> None:
    assert of_process(3, AEX_STORE_URL="", AEX_INSTANCE="mine")["AEX_INSTANCE"] == "suite-1"
    for inherited in ({}, {"AEX_INSTANCE": "mine"}):
        assert "AEX_INSTANCE" not in of_process(3, AEX_STORE_URL="firestore://acme", **inherited)


def test_environment_adds_the_absolute_configuration_to_the_users() -> None:
    printed = build_suite_environment({"AEX_LOG_LEVEL": "debug"}, Path("/data"), Path("verification.yaml"))
    assert printed["AEX_OUTCOME_CONFIG"] == str(Path("verification.yaml").resolve())
    assert printed["AEX_LOG_LEVEL"] == "debug"
    assert "AEX_OUTCOME_CONFIG" not in build_suite_environment({}, Path("/data"), None)

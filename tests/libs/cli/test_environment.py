"""What the processes of a suite are told by their environment."""

from pathlib import Path

import pytest

from aex_cli.suite.environment import process_environment, suite_environment
from aex_cli.suite.service_spec import default_suite

SPECS = default_suite(8081, replicas=2)


def of_process(place: int, **inherited: str) -> dict[str, str]:
    return process_environment(SPECS[place], SPECS, suite_environment(inherited, Path("/data"), None))


def test_each_process_calls_the_services_of_its_own_replica() -> None:
    first, second = of_process(1), of_process(5)
    assert (first["AEX_PORT"], second["AEX_PORT"]) == ("8082", "8086")
    assert (first["AEX_GOVERNANCE_URL"], second["AEX_GOVERNANCE_URL"]) == (
        "http://127.0.0.1:8083",
        "http://127.0.0.1:8087",
    )
    assert first["AEX_DATA_DIR"] == second["AEX_DATA_DIR"] == "/data"


def test_processes_of_one_service_have_names_of_their_own_that_are_the_same_at_each_start() -> None:
    assert of_process(3)["AEX_INSTANCE"] != of_process(7)["AEX_INSTANCE"]
    assert of_process(7)["AEX_INSTANCE"] == of_process(7)["AEX_INSTANCE"] == "suite-2"


@pytest.mark.parametrize("inherited", [{}, {"AEX_INSTANCE": "mine"}])
def test_on_a_store_that_other_suites_may_use_no_process_has_a_name(inherited: dict[str, str]) -> None:
    assert "AEX_INSTANCE" not in of_process(3, AEX_STORE_URL="firestore://acme", **inherited)


def test_a_name_that_the_suite_was_given_is_not_passed_on_to_all_of_its_processes() -> None:
    assert of_process(3, AEX_STORE_URL="", AEX_INSTANCE="mine")["AEX_INSTANCE"] == "suite-1"


def test_the_configuration_is_named_in_full_and_everything_else_is_the_users() -> None:
    told = suite_environment({"AEX_LOG_LEVEL": "debug"}, Path("/data"), Path("verification.yaml"))
    assert told["AEX_OUTCOME_CONFIG"] == str(Path("verification.yaml").resolve())
    assert told["AEX_LOG_LEVEL"] == "debug"
    assert "AEX_OUTCOME_CONFIG" not in suite_environment({}, Path("/data"), None)

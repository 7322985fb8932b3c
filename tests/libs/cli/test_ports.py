import socket

import pytest

from aex_cli.suite.ports import check_ports
from aex_cli.suite.service_spec import default_suite, ready_line
from aex_runtime.commandline.errors import UserError
from tests.libs.cli.suites import free_ports


def test_the_four_services_take_consecutive_ports_in_the_order_of_the_specification() -> None:
    assert ready_line(default_suite(8081)) == (
        "ready work-publisher=http://127.0.0.1:8081 verification=http://127.0.0.1:8082 "
        "governance=http://127.0.0.1:8083 settlement=http://127.0.0.1:8084"
    )
    assert [spec.url_variable for spec in default_suite(1)] == [
        "AEX_WORK_PUBLISHER_URL",
        "AEX_VERIFICATION_URL",
        "AEX_GOVERNANCE_URL",
        "AEX_SETTLEMENT_URL",
    ]


def test_further_replicas_take_the_next_four_ports_each_and_are_named_by_their_number() -> None:
    specs = default_suite(8081, replicas=3)
    assert [spec.port for spec in specs] == list(range(8081, 8081 + 12))
    assert ready_line(specs).startswith(ready_line(default_suite(8081)) + " work-publisher-2=http://127.0.0.1:8085 ")
    assert ready_line(specs).endswith(" settlement-3=http://127.0.0.1:8092")
    assert specs[7].url_variable == specs[3].url_variable == "AEX_SETTLEMENT_URL"


def test_a_taken_port_of_a_further_replica_is_named_with_its_number() -> None:
    base = free_ports(8)
    with (
        socket.create_server(("127.0.0.1", base + 6)),
        pytest.raises(UserError, match=rf"{base + 6} \(governance-2\)"),
    ):
        check_ports(default_suite(base, replicas=2))


def test_free_ports_pass() -> None:
    check_ports(default_suite(free_ports(4)))


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 listening everywhere blocks loopback too
def test_a_taken_port_is_named_with_its_service_and_a_base_that_is_free(address: str) -> None:
    base = free_ports(4)
    with socket.create_server((address, base + 2)):
        with pytest.raises(UserError, match=rf"{base + 2} \(governance\)") as refused:
            check_ports(default_suite(base))
        suggested = int(refused.value.text().rpartition("--port-base ")[2])
        check_ports(default_suite(suggested))


def test_all_taken_ports_are_named_at_once() -> None:
    base = free_ports(4)
    taken = rf"2 ports are taken: {base} \(work-publisher\), {base + 3} \(settlement\)"
    with (
        socket.create_server(("127.0.0.1", base)),
        socket.create_server(("127.0.0.1", base + 3)),
        pytest.raises(UserError, match=taken),
    ):
        check_ports(default_suite(base))

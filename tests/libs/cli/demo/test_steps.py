import io
from itertools import count
from pathlib import Path

import pytest

from aex_cli.demo.steps import (
    DemoFailed,
    measure_log_sizes,
    poll_until_done,
    read_log_excerpts,
    require_value,
    show_next_steps,
)
from aex_cli.report import Report
from aex_cli.suite.child import Launch
from aex_cli.suite.service_spec import ServiceSpec, plan_suite
from aex_client import Conflict, NotFound

SPEC = ServiceSpec("settlement", "aex_settlement", 8084)


def info(number: int) -> str:
    return f'{{"event":"request {number}","level":"info"}}\n'


def test_excerpt_has_the_warnings_of_this_run_or_its_last_lines(tmp_path: Path) -> None:
    launch = Launch({}, tmp_path)
    assert read_log_excerpts(measure_log_sizes([SPEC], launch)) == "", "no log"
    log = launch.log_path(SPEC)
    log.write_text('{"event":"long ago","level":"error"}\n')
    ends = measure_log_sizes([SPEC], launch)
    with log.open("a") as more:
        more.write("".join(info(number) for number in range(9)))
    assert read_log_excerpts(ends).splitlines() == [f"{log}:", *(info(number).strip() for number in range(4, 9))]
    failed = '{"event":"event_failed","level":"warning"}'
    with log.open("a") as more:
        more.write(failed + "\n" + info(2))
    assert read_log_excerpts(ends) == f"{log}:\n{failed}"


async def never_found() -> int:
    raise NotFound(404, "not_found", "not yet")


async def test_poll_waits_until_the_result_exists_and_is_done() -> None:
    counts = count(1)

    async def look() -> int:
        found = next(counts)
        return found if found > 2 else await never_found()

    assert await poll_until_done(look, "the count", lambda found: found > 3) == 4


async def test_poll_ends_at_its_time_limit_or_at_another_refusal() -> None:
    async def refuse() -> int:
        raise Conflict(409, "held", "held")

    with pytest.raises(DemoFailed, match=r"the count did not appear within 0\.1 s"):
        await poll_until_done(never_found, "the count", within_s=0.1)
    with pytest.raises(Conflict):
        await poll_until_done(refuse, "the count")
    with pytest.raises(DemoFailed, match="a number is missing"):
        require_value(None, "a number")


def printed(data_dir: Path, port_base: int, exports: str | None = None) -> str:
    out = io.StringIO()
    show_next_steps(plan_suite(port_base), data_dir, exports, "ctr_1", Report(out))
    return out.getvalue()


def test_next_steps_quote_another_directory_and_begin_with_the_variables() -> None:
    visible = printed(Path(".aex"), 8081)
    assert "  resume     aex up\n" in visible
    assert "http://127.0.0.1:8084/v1/settlements/ctr_1\n" in visible
    assert "  dashboard  http://127.0.0.1:8084/dashboard " in visible
    assert visible.count("/docs") == 4
    assert "variables" not in visible
    visible = printed(Path("/my data"), 9081)
    assert "aex up --data-dir '/my data' --port-base 9081\n" in visible
    assert "aex token --role finance --sub fiona --data-dir '/my data'\n" in visible
    visible = printed(Path(".aex"), 8081, "export AEX_BUS_URL=pubsub://p")
    assert "  variables  export AEX_BUS_URL=pubsub://p\n  resume     aex up\n" in visible

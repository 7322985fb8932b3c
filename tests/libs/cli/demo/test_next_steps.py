import io
from pathlib import Path

from aex_cli.demo.next_steps import tell_next_steps
from aex_cli.report import PlainReport
from aex_cli.suite.service_spec import default_suite


def told(data_dir: Path, port_base: int, exports: str | None = None) -> str:
    out = io.StringIO()
    tell_next_steps(default_suite(port_base), data_dir, exports, "ctr_1", PlainReport(out))
    return out.getvalue()


def test_defaults_need_no_options() -> None:
    shown = told(Path(".aex"), 8081)
    assert "  resume     aex up\n" in shown
    assert "http://127.0.0.1:8084/v1/settlements/ctr_1\n" in shown
    assert "  dashboard  http://127.0.0.1:8084/dashboard " in shown
    assert shown.count("/docs") == 4


def test_other_places_are_written_so_that_a_shell_takes_them() -> None:
    shown = told(Path("/my data"), 9081)
    assert "aex up --data-dir '/my data' --port-base 9081\n" in shown
    assert "aex token --role finance --sub fiona --data-dir '/my data'\n" in shown


def test_variables_come_before_what_needs_them() -> None:
    shown = told(Path(".aex"), 8081, "export AEX_BUS_URL=pubsub://p")
    assert "  variables  export AEX_BUS_URL=pubsub://p\n  resume     aex up\n" in shown
    assert "variables" not in told(Path(".aex"), 8081)

import io

import pytest
from rich.console import Console

from aex_cli.report import align_columns, create_report


def printed(console: Console) -> str:
    report = create_report(console)
    report.print_heading("Work 1")
    report.print_step("verdict", "rejected [1 of 3]")
    report.print_block("<a>\n</a>")
    report.print_table(("metric", "money"), (("rougeL", "+0.20"), ("f1", "-10.02")), right_aligned=("money",))
    report.print_command("curl", "curl -s " + "x" * 100)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture
def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=60, color_system="standard", legacy_windows=False)


def test_pipe_gets_plain_aligned_text() -> None:
    assert printed(Console(file=io.StringIO(), force_terminal=False)).splitlines() == [
        "",
        "Work 1",
        "  verdict    rejected [1 of 3]",
        "             <a>",
        "             </a>",
        "    metric   money",
        "    rougeL   +0.20",
        "    f1      -10.02",
        "  curl       curl -s " + "x" * 100,
    ]


def test_terminal_has_colours_and_folds_steps_but_not_commands(terminal: Console) -> None:
    visible = printed(terminal)
    for part in ("\x1b[", "rejected [1 of 3]", "-10.02"):
        assert part in visible
    report = create_report(terminal)
    report.print_step("publish", "word " * 20)
    report.print_command("curl", "y" * 100)
    assert isinstance(terminal.file, io.StringIO)
    folded = terminal.file.getvalue()
    assert "\n             word" in folded
    assert "y" * 100 in folded


def test_wide_characters_keep_their_columns() -> None:
    assert align_columns(("a", "b"), (("日本", "1"), ("x", "2")), right_aligned=("b",)) == [
        "a     b",
        "日本  1",
        "x     2",
    ]

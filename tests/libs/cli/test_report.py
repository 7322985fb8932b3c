import io

import pytest
from rich.console import Console

from aex_cli.report import aligned, report_on


def told(console: Console) -> str:
    report = report_on(console)
    report.chapter("Work 1")
    report.step("verdict", "rejected [1 of 3]")
    report.block("<a>\n</a>")
    report.table(("metric", "money"), (("rougeL", "+0.20"), ("f1", "-10.02")), numbers=("money",))
    report.command("curl", "curl -s " + "x" * 100)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture
def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=60, color_system="standard", legacy_windows=False)


def test_a_pipe_gets_plain_aligned_text_without_control_codes() -> None:
    assert told(Console(file=io.StringIO(), force_terminal=False)).splitlines() == [
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


def test_a_terminal_gets_the_same_words_with_colours_and_brackets_are_no_markup(terminal: Console) -> None:
    shown = told(terminal)
    assert "\x1b[" in shown
    assert "rejected [1 of 3]" in shown
    assert "-10.02" in shown


def test_a_terminal_folds_a_long_step_below_its_beginning_and_never_a_line_to_copy(terminal: Console) -> None:
    report = report_on(terminal)
    report.step("publish", "word " * 20)
    report.command("curl", "y" * 100)
    assert isinstance(terminal.file, io.StringIO)
    folded = terminal.file.getvalue()
    assert "\n             word" in folded
    assert "y" * 100 in folded


def test_wide_characters_keep_their_columns() -> None:
    assert aligned(("a", "b"), (("日本", "1"), ("x", "2")), numbers=("b",)) == ["a     b", "日本  1", "x     2"]

import io

from rich.console import Console

from aex_cli.demo.report import Report, aligned


def told(console: Console) -> str:
    report = Report(console)
    report.chapter("Work 1")
    report.step("verdict", "rejected [1 of 3]")
    report.block("<a>\n</a>")
    report.table(("metric", "money"), (("rougeL", "+0.20"), ("f1", "−10.02")), numbers=("money",))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_pipe_gets_plain_aligned_text_without_control_codes() -> None:
    assert told(Console(file=io.StringIO())).splitlines() == [
        "",
        "Work 1",
        "  verdict    rejected [1 of 3]",
        "             <a>",
        "             </a>",
        "             metric   money",
        "             rougeL   +0.20",
        "             f1      −10.02",
    ]


def test_a_terminal_gets_the_same_words_with_colours_and_brackets_are_no_markup() -> None:
    shown = told(Console(file=io.StringIO(), force_terminal=True, width=80, color_system="standard"))
    assert "\x1b[" in shown
    assert "rejected [1 of 3]" in shown
    assert "−10.02" in shown


def test_wide_characters_keep_their_columns() -> None:
    assert aligned(("a", "b"), (("日本", "1"), ("x", "2")), numbers=("b",)) == ["a     b", "日本  1", "x     2"]

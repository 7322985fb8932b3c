"""What `aex up` tells a person once everything answers. Scripts read the `ready` line after it."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from aex_cli.suite.data_directory import DataDirectory
from aex_cli.suite.service_spec import ServiceSpec


def show_banner(console: Console, specs: Sequence[ServiceSpec], directory: DataDirectory, seconds: float) -> None:
    """A small table on a terminal: where things are, how to get a token, how to stop."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0), title=f"AEX Outcomes, up in {seconds:.1f} s")
    table.title_justify = "left"
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for spec in specs:
        table.add_row(spec.label, f"{spec.url}/docs")
    table.add_row("data", escape(str(directory.root)))
    table.add_row("logs", escape(str(directory.logs)))
    table.add_row("token", escape(f"aex token --role consumer --sub acme --data-dir {directory.root}"))
    table.add_row("stop", "Ctrl-C")
    console.print(table)

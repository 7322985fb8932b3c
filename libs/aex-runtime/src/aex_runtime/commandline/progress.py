"""A bar for each stage of a long command: on a terminal alone, and on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn


class Tell(Protocol):
    """Told what is under way, how much of it is done, and of how much."""

    def __call__(self, stage: str, done: int, total: int, /) -> None: ...


@contextmanager
def bars() -> Iterator[Tell]:
    """Something to tell, shown while it is entered."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    stages: dict[str, TaskID] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:

        def tell(stage: str, done: int, total: int, /) -> None:
            if stage not in stages:
                stages[stage] = progress.add_task(stage, total=total)
            progress.update(stages[stage], completed=done, total=total)

        yield tell

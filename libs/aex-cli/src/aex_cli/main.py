"""The `aex` command."""

import os
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from aex_cli.lazy_commands import LazyGroup
from aex_runtime.commandline.errors import UserError
from aex_runtime.commandline.output import complain, write_line

EXAMPLES = """
Examples:

- `aex up`: the whole suite on this machine
- `aex demo`: the main job on real text and data, step by step
- `aex token --role consumer --sub acme`: a bearer token for it
- `aex lint criteria.yaml --work work.json`: what is wrong or odd about success criteria
- `aex verify --criteria criteria.yaml --work work.json --output output.json`: a verdict, offline
- `aex domains check my_domain.yaml`: whether a scientific domain of one's own can be used
- `aex outcomes export --format rollouts --out rollouts.jsonl`: how contracts ended, as trainers read it
- `aex deadletters list`: what no handler could deal with
- `aex ledger verify`: whether anybody touched the books
- `aex rollups rebuild`: what finance reads, made anew from the journal
- `aex profiles rebuild`: what the fraud rules remember, made anew from governance's log
"""


INTERNAL_ERROR = 70
"""What a mistake of ours ends with (EX_SOFTWARE): 1 would say to callers of `aex verify` that it rejected."""


def _version(wanted: bool) -> None:
    if wanted:
        write_line(f"aex {version('aex-cli')}")
        raise typer.Exit


def root(
    ctx: typer.Context,
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Pay agents for verified outcomes: try criteria offline, run the suite, mint tokens, look after it."""
    if ctx.invoked_subcommand is None:
        write_line(ctx.get_help())


def build_app() -> typer.Typer:
    """The command with its lazy sub-commands."""
    app = typer.Typer(name="aex", cls=LazyGroup, rich_markup_mode="markdown", epilog=EXAMPLES)
    app.callback(invoke_without_command=True)(root)
    return app


def call(arguments: list[str]) -> int:
    """Run one command line; the exit code."""
    command = typer.main.get_command(build_app())
    return exit_code_of(lambda: command.main(arguments, prog_name="aex", standalone_mode=False))


def exit_code_of(action: Callable[[], object]) -> int:
    """Do it; the exit code. Mistakes of the user become one line on stderr, never a traceback: that is for ours."""
    try:
        result = action()
    except UserError as error:
        complain(error.text())
        return error.exit_code
    except typer.TyperException as error:
        complain(_usage_line(error))
        return error.exit_code
    except typer.Abort:
        complain("aborted")
        return 1
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001 whatever it is: it has its traceback, and an exit code that is its own
        traceback.print_exc()
        return INTERNAL_ERROR
    return result if isinstance(result, int) else 0


def _usage_line(error: typer.TyperException) -> str:
    """What is wrong with the command line, and where its help is."""
    where = getattr(getattr(error, "ctx", None), "command_path", "aex")
    told = " ".join(error.format_message().split()).rstrip(".") or "a command is missing"
    return f"{told}; see {where} --help"


def run() -> None:
    """The entry point of the `aex` script."""
    try:
        code = call(sys.argv[1:])
    except BrokenPipeError:
        # Whoever read our output (`head`) has seen enough; Python must not complain of it on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)

"""The `aex` command: its arguments, its exit codes and the printing of errors."""

import os
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from aex_cli.lazy_commands import LazyGroup
from aex_runtime.commandline import UserError, print_error, write_line_to_stdout

EXAMPLES = """
Examples:

- `aex up`: the whole suite on this machine
- `aex demo`: the main job on real text and data, step by step
- `aex token --role consumer --sub acme`: a bearer token for it
- `aex lint criteria.yaml --work work.json`: problems and warnings of success criteria
- `aex verify --criteria criteria.yaml --work work.json --output output.json`: a verdict, offline
- `aex import promptfoo promptfooconfig.yaml --out imported`: works from another tool's eval
- `aex work publish works.jsonl`: publish works, each once
- `aex domains check my_domain.yaml`: check your own scientific domain
- `aex outcomes export --format rollouts --out rollouts.jsonl`: outcomes of contracts, as rollouts for trainers
- `aex deadletters list`: messages that no handler could process
- `aex outbox list`: events that the bus refused
- `aex ledger verify`: check the ledger and its journal for changes
- `aex rollups rebuild`: rebuild finance's projections from the journal
- `aex profiles rebuild`: rebuild the fraud rules' projections from governance's log
"""

INTERNAL_ERROR = 70
"""Exit code of a defect in this command (EX_SOFTWARE); 1 means "rejected" in `aex verify`."""


def _print_version(requested: bool) -> None:
    if requested:
        write_line_to_stdout(f"aex {version('aex-cli')}")
        raise typer.Exit


def root(
    ctx: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Pay agents for verified outcomes: try criteria offline, run the suite, mint tokens, operate it."""
    if ctx.invoked_subcommand is None:
        write_line_to_stdout(ctx.get_help())


def build_app() -> typer.Typer:
    """Return the `aex` application, which imports a sub-command only when it is called."""
    app = typer.Typer(name="aex", cls=LazyGroup, rich_markup_mode="markdown", epilog=EXAMPLES)
    app.callback(invoke_without_command=True)(root)
    return app


def run_command_line(arguments: list[str]) -> int:
    """Run `aex` with these arguments, print any error, and return the exit code.

    Raises `BrokenPipeError`.
    """
    command = typer.main.get_command(build_app())
    return run_and_report_errors(lambda: command.main(arguments, prog_name="aex", standalone_mode=False))


def run_and_report_errors(action: Callable[[], object]) -> int:
    """Run `action`, print its error, and return the exit code of the command.

    A `UserError` is printed as its message, a defect as a traceback. Raises `BrokenPipeError`.
    """
    try:
        result = action()
    except UserError as error:
        print_error(error.text())
        return error.exit_code
    except typer.TyperException as error:
        message = " ".join(error.format_message().split()).rstrip(".") or "a command is missing"
        print_error(f"{message}; see {getattr(getattr(error, 'ctx', None), 'command_path', 'aex')} --help")
        return error.exit_code
    except typer.Abort:
        print_error("aborted")
        return 1
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001 any defect prints its traceback and has an exit code of its own
        traceback.print_exc()
        return INTERNAL_ERROR
    return result if isinstance(result, int) else 0


def run() -> None:
    """Run `aex` with the arguments of the process, and exit with its code."""
    try:
        code = run_command_line(sys.argv[1:])
    except BrokenPipeError:
        # The reader of our output (`head`) has closed it; Python would report that again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)

"""`aex verify`: one output against criteria, offline, with the verdict that the services would give."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from aex_cli.errors import UserError
from aex_cli.offline.confined import custom_ms, load_catalog, run_confined
from aex_cli.offline.documents import STDIN, Document, read_document
from aex_cli.offline.requests import Given, verify_request
from aex_cli.offline.verdicts import COLUMNS, FOLDED, NUMBERS, amounts, criterion_rows, decided, reasons
from aex_cli.output import complain, write_json
from aex_cli.report import Report, report_on
from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import Candidate
from aex_models.results import Verdict, VerificationResult
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.comparing import is_custom
from aex_outcomes.lifecycle.hashing import candidate_hash
from aex_outcomes.submission.verify_request import VerifyRequest

app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
JOB = "aex_outcomes.engine.job:verify_candidate"
NO_CONTRACT = "none"
EXIT_CODES = {Verdict.PASSED: 0, Verdict.REJECTED: 1, Verdict.INDETERMINATE: 3}
_INTERRUPTED = 130


@app.command(
    epilog="Example: `aex verify --criteria criteria.yaml --work work.json --output output.json && echo passed`"
)
def verify(
    output: Annotated[str, typer.Option(metavar="FILE", help="What the agent would deliver.")],
    criteria: Annotated[
        str | None, typer.Option(metavar="FILE", help="Success criteria.", show_default="those of --work")
    ] = None,
    work: Annotated[
        str | None, typer.Option(metavar="FILE", help="The work: its input and evaluation, and its budget.")
    ] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="FILE", help="What the agent would report: duration_ms and the like.")
    ] = None,
    platform_latency_ms: Annotated[
        float | None, typer.Option(min=0, help="What the platform would have measured, for criteria on it.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(envvar="AEX_OUTCOME_CONFIG", help="outcome-verification.yaml, as the services use.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The VerificationResult as JSON.")] = False,
) -> None:
    """Judge an output by success criteria, and explain each criterion. No service is needed, nothing is stored.

    Files are JSON or YAML; `-` is standard input. Governance is not asked: bonuses follow success alone.

    Exit codes: 0 passed, 1 rejected, 2 a file or an option is wrong, 3 indeterminate.
    """
    files = _read(output=output, criteria=criteria, work=work, metadata=metadata)
    _hint_at_whole_candidate(files["output"])
    catalog = load_catalog(config)
    given = Given(files["criteria"], files["work"], files["output"], files["metadata"], platform_latency_ms)
    request, budget = verify_request(given, catalog)
    try:
        answer = run_confined(JOB, _payload(request, catalog), "verifying", custom_ms(_custom_runs(request), catalog))
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None  # 1 would say that the output was rejected
    result = VerificationResult.model_validate(answer["result"])
    if as_json:
        write_json(project(result, Audience.CONSUMER, Disclosure(output=True)))
    else:
        report = report_on(Console())
        _tell(request, result, catalog, report)
        report.step("money", amounts(result, budget))
        report.step("governance", f"{result.governance.action}: it is asked only where contracts run")
    raise typer.Exit(EXIT_CODES[result.verdict])


def _read(**paths: str | None) -> dict[str, Document | None]:
    """The documents by option."""
    if sum(path == STDIN for path in paths.values()) > 1:
        raise UserError("standard input can be one of the files", "give - to one option alone")
    return {name: None if path is None else read_document(f"--{name}", path) for name, path in paths.items()}


def _hint_at_whole_candidate(output: Document | None) -> None:
    """A body as it is posted to a contract is legal JSON too, and its verdict not what is meant."""
    value = output.value if output else None
    if isinstance(value, dict) and "output" in value and set(value) <= set(Candidate.model_fields):
        name = output.name if output else ""
        complain(f"note: {name} looks like a whole candidate; --output takes what stands below `output` there")


def _payload(request: VerifyRequest, catalog: Catalog) -> dict[str, Any]:
    candidate = Candidate(output=request.output, execution_metadata=request.execution_metadata)
    return {
        "contract_id": NO_CONTRACT,
        "candidate_hash": candidate_hash(candidate),
        "success_criteria": request.success_criteria.model_dump(mode="json"),
        "work_input": request.input,
        "evaluation": request.evaluation.model_dump(mode="json", exclude_none=True) if request.evaluation else None,
        "output": request.output,
        "execution_metadata": request.execution_metadata.model_dump(mode="json", exclude_none=True),
        "platform_latency_ms": request.platform_latency_ms,
        "config": catalog.config.as_json(),
    }


def _custom_runs(request: VerifyRequest) -> int:
    """How many runs of custom code the verdict takes at most."""
    return sum(is_custom(each.metric) for each in request.success_criteria.criteria)


def _tell(request: VerifyRequest, result: VerificationResult, catalog: Catalog, report: Report) -> None:
    told = decided(request.success_criteria, result)
    if result.verdict is Verdict.INDETERMINATE:
        report.step("verdict", f"{result.verdict}: {told}")
    else:
        report.step(result.verdict.value, told)
    report.table(COLUMNS, criterion_rows(result), NUMBERS, FOLDED)
    for reason in reasons(result, catalog):
        report.step("not met", reason)

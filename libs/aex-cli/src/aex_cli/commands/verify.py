"""`aex verify`: the verdict on one output or many, offline, by the same engine as the services."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from aex_cli.commands import Config
from aex_cli.offline import named_verifier, verdict_report
from aex_cli.offline.batch_run import BatchOptions, ReportFormat, verify_outputs
from aex_cli.offline.documents import STDIN, InputDocument, read_document
from aex_cli.offline.inputs import OfflineRequest, RawFiles, build_checked_request, parse_named_files, read_reasoning
from aex_cli.offline.jobs import build_engine_job_limits, examine_science, load_metric_catalog, run_confined_job
from aex_cli.offline.named_verifier import VerifierRuling, ruling_to_json, run_named_verifier
from aex_cli.report import Report, create_report
from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import Candidate
from aex_models.results import Verdict, VerificationResult
from aex_models.science import ScienceResult
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.local import dump_evaluation
from aex_outcomes.engine.slow_metrics import compute_max_slow_seconds
from aex_outcomes.lifecycle.outputs import candidate_hash
from aex_outcomes.submission.verify_request import Trial
from aex_runtime.commandline import UserError, print_error, write_json_to_stdout

app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
JOB = "aex_outcomes.engine.job:verify_candidate"
EXIT_CODES = {Verdict.PASSED: 0, Verdict.REJECTED: 1, Verdict.INDETERMINATE: 3}


@app.command(
    epilog="Example: `aex verify --criteria criteria.yaml --work work.json --output output.json && echo passed`"
)
def verify(
    output: Annotated[list[str] | None, typer.Option(metavar="FILE", help="The agent's output.")] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Many outputs: a line of JSON each, `{id?, output, …}`."),
    ] = None,
    criteria: Annotated[
        str | None, typer.Option(metavar="FILE", help="Success criteria.", show_default="those of --work")
    ] = None,
    work: Annotated[
        str | None, typer.Option(metavar="FILE", help="The work: its input and evaluation, and its budget.")
    ] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="FILE", help="The agent's metadata: duration_ms and the like.")
    ] = None,
    platform_latency_ms: Annotated[
        float | None, typer.Option(min=0, help="The latency that the platform would measure.")
    ] = None,
    claims: Annotated[
        str | None, typer.Option(metavar="FILE", help="The agent's claims: a mapping of names to numbers.")
    ] = None,
    reasoning: Annotated[str | None, typer.Option(metavar="FILE", help="The agent's reasoning, as text.")] = None,
    artifact: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FILE", help="The agent's raw data; once for each file.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FILE", help="Your own raw data; once for each file.")
    ] = None,
    config: Config = None,
    verifier_network: Annotated[
        bool, typer.Option(envvar="AEX_VERIFIER_NETWORK", help="The work's verifier may open connections.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, help="Workers for --outputs.", show_default="one for each processor")
    ] = None,
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="Show progress.", show_default="on a terminal")
    ] = None,
    report_format: Annotated[
        ReportFormat | None, typer.Option("--report", help="A report on --outputs.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The report's file; without it, stdout.", show_default=False)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The VerificationResult as JSON; with --outputs a line each.")
    ] = False,
) -> None:
    """Score outputs by success criteria, and explain each criterion. Needs no service, stores nothing.

    Files are JSON or YAML; `-` is standard input. A verifier that the work names is run too, if `--config` or an
    installed package has it, and decides with the criteria. Governance is skipped: bonuses depend only on success.

    For a work with `science`, claims are compared with the raw data: CSV, TSV, JSON lines or Parquet. No judge is used:
    a work that requires `peer_review` is indeterminate, unless other checks reject it.

    With `--outputs`, each line may have its own `execution_metadata` and `evaluation`, whose members replace those of
    the files. Science and verifiers need `--output`. `--report` has the pass rate, and the rate of each criterion.

    Exit codes: 0 passed, 1 rejected, 2 wrong file or option, 3 indeterminate: the verifier itself has failed. With
    `--outputs` that of the worst line counts, in the order 2, 3, 1, 0.
    """
    path, many = _require_one_of(output, outputs)
    if many is not None:
        _refuse_with_outputs(claims=claims, reasoning=reasoning, artifact=artifact, data=data)
        files = _read(outputs_from=many, criteria=criteria, work=work, metadata=metadata)
        options = BatchOptions(many, jobs, progress, report_format, out, as_json)
        raise typer.Exit(verify_outputs(options, files, platform_latency_ms, load_metric_catalog(config)))
    _refuse_without_outputs(jobs=jobs, progress=progress, report=report_format, out=out)
    files = _read(output=path, criteria=criteria, work=work, metadata=metadata, claims=claims)
    raw = RawFiles(parse_named_files("--artifact", artifact or ()), parse_named_files("--data", data or ()))
    _warn_about_candidate(files["output"])
    catalog = load_metric_catalog(config)
    request = build_checked_request(files, platform_latency_ms, read_reasoning(reasoning), catalog)
    candidate = request.build_candidate(raw.build_artifacts_with_digests())
    try:
        ruling = run_named_verifier(request, candidate, catalog, network=verifier_network)
        science = _examine(request, candidate, raw, catalog)
        engine_result = _score(request.trial, candidate, catalog, science)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None  # 1 would mean "rejected"
    result = named_verifier.apply_ruling(engine_result, ruling, request)
    if as_json:
        projected = project(result, Audience.CONSUMER, Disclosure(output=True))
        write_json_to_stdout(
            projected | ({"verifier": ruling_to_json(str(request.policy.verifier), ruling)} if ruling else {})
        )
    else:
        report = create_report(Console())
        _print_verdict(request, engine_result, result, ruling, report)
        _print_details(result, catalog, report)
        report.print_step("money", verdict_report.summarize_cost(result, request.budget))
        report.print_step("governance", f"{result.governance.action}: it decides only on running contracts")
    raise typer.Exit(EXIT_CODES[result.verdict])


def _require_one_of(output: list[str] | None, outputs: list[str] | None) -> tuple[str | None, str | None]:
    """Return the path of one output or of many; the other is None.

    Raises `UserError` unless one of them is given, once.
    """
    many_fix = "give several outputs in one file, a line of JSON each, with --outputs"
    for name, paths in (("output", output), ("outputs", outputs)):
        if paths and len(paths) > 1:
            raise UserError(f"--{name} is given {len(paths)} times, and only one file would be read", many_fix)
    if bool(output) == bool(outputs):
        problem = "--output and --outputs exclude each other" if output else "there is no output"
        raise UserError(problem, "give --output for one output, or --outputs for a file with many")
    return (output[0] if output else None), (outputs[0] if outputs else None)


def _refuse_with_outputs(**options: object) -> None:
    for name in [name for name, value in options.items() if value]:
        raise UserError(f"--{name} is about one output, not about --outputs", "verify each output with --output")


def _refuse_without_outputs(**options: object) -> None:
    for name in [name for name, value in options.items() if value is not None]:
        raise UserError(f"--{name} needs --outputs", "give many outputs with --outputs, or leave it out")


def _read(outputs_from: str | None = None, **paths: str | None) -> dict[str, InputDocument | None]:
    """Read the files that options name, by option. Raises `UserError` if two are standard input.

    `outputs_from`: path of the outputs, which is not read here.
    """
    if sum(path == STDIN for path in (outputs_from, *paths.values())) > 1:
        raise UserError("only one of the files can be standard input", "give - to one option")
    return {name: None if path is None else read_document(f"--{name}", path) for name, path in paths.items()}


def _warn_about_candidate(output: InputDocument | None) -> None:
    """Print a note if the file of the output seems to hold a complete candidate instead."""
    value = output.value if output else None
    if isinstance(value, dict) and "output" in value and set(value) <= set(Candidate.model_fields):
        name = output.name if output else ""
        print_error(f"note: {name} looks like a candidate; --output takes only its `output` member")


def _examine(request: OfflineRequest, candidate: Candidate, raw: RawFiles, catalog: Catalog) -> ScienceResult | None:
    """Run the science gate and return its result; None for a work without science."""
    if request.trial.science is not None:
        return examine_science(request.trial.science, request.trial.domain, candidate, raw, catalog)
    if raw.artifacts or raw.data or candidate.claimed_values:
        raise UserError("the work has no science: claims and raw data are not checked", "add `science` to --work")
    return None


def _score(trial: Trial, candidate: Candidate, catalog: Catalog, science: ScienceResult | None) -> VerificationResult:
    """Return the engine's result for the output. Without criteria and science, any output passes."""
    criteria = trial.success_criteria
    payload: dict[str, Any] = {
        "contract_id": "none",
        "candidate_hash": candidate_hash(candidate),
        "success_criteria": criteria.model_dump(mode="json") if criteria else None,
        "work_input": trial.input,
        "evaluation": dump_evaluation(trial.evaluation),
        "output": trial.output,
        "execution_metadata": trial.execution_metadata.model_dump(mode="json", exclude_none=True),
        "platform_latency_ms": trial.platform_latency_ms,
        "science": science.model_dump(mode="json") if science else None,
        "config": catalog.config.as_json(),
    }
    slow_s = compute_max_slow_seconds(criteria, {**trial.input, **(payload["evaluation"] or {})}, catalog)
    answer = run_confined_job(JOB, payload, "verifying", build_engine_job_limits(slow_s))
    return VerificationResult.model_validate(answer["result"])


def _print_verdict(
    request: OfflineRequest,
    engine_result: VerificationResult,
    result: VerificationResult,
    ruling: VerifierRuling | None,
    report: Report,
) -> None:
    """Print the verdict. `result` combines `engine_result` with the ruling of the named verifier."""
    summary = verdict_report.summarize_verdict(request.trial.success_criteria, engine_result)
    if ruling is not None:
        summary = f"{named_verifier.summarize_ruling(str(request.policy.verifier), ruling)}; {summary}"
    is_known = result.verdict is not Verdict.INDETERMINATE
    report.print_step(
        result.verdict if is_known else "verdict", summary if is_known else f"{result.verdict}: {summary}"
    )
    for label, text in named_verifier.describe_ruling(ruling) if ruling else []:
        report.print_step(label, text)


def _print_details(result: VerificationResult, catalog: Catalog, report: Report) -> None:
    if result.science is not None:
        rows = verdict_report.build_claim_rows(result.science)
        if rows:
            report.print_table(verdict_report.CLAIM_COLUMNS, rows, verdict_report.CLAIM_NUMBERS, "result")
        for label, text in verdict_report.describe_science_findings(result.science):
            report.print_step(label, named_verifier.to_printable_line(text))
    if result.criterion_results:
        rows = verdict_report.build_criterion_rows(result)
        report.print_table(verdict_report.VERDICT_COLUMNS, rows, verdict_report.VERDICT_NUMBERS, "needs")
    for reason in verdict_report.explain_unmet_criteria(result, catalog):
        report.print_step("not met", reason)

"""`aex verify`: one output against criteria, offline, with the verdict that the services would give."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from aex_cli.offline import science_report
from aex_cli.offline.confined import custom_ms, for_custom, load_catalog, run_confined
from aex_cli.offline.documents import STDIN, Document, read_document
from aex_cli.offline.named_verifier import Word, as_json, combined, in_full, in_short, verifiers_word
from aex_cli.offline.raw_data import RawData, artifacts_of, named_files, reasoning_in
from aex_cli.offline.requests import Asked, Given, asked_of
from aex_cli.offline.verdicts import COLUMNS, FOLDED, NUMBERS, amounts, criterion_rows, decided, reasons
from aex_cli.report import Report, report_on
from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import Candidate
from aex_models.results import Verdict, VerificationResult
from aex_models.science import ScienceResult
from aex_outcomes.catalog import Catalog
from aex_outcomes.custom_names import is_custom
from aex_outcomes.lifecycle.hashing import candidate_hash
from aex_outcomes.submission.verify_request import Trial
from aex_runtime.commandline.errors import UserError
from aex_runtime.commandline.output import complain, write_json

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
    claims: Annotated[
        str | None, typer.Option(metavar="FILE", help="What the agent would claim: a mapping of names to numbers.")
    ] = None,
    reasoning: Annotated[str | None, typer.Option(metavar="FILE", help="The agent's reasoning, as text.")] = None,
    artifact: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FILE", help="Raw data of the agent's; once for each file.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FILE", help="Raw data of your own; once for each file.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(envvar="AEX_OUTCOME_CONFIG", help="outcome-verification.yaml, as the services use.")
    ] = None,
    verifier_network: Annotated[
        bool, typer.Option(envvar="AEX_VERIFIER_NETWORK", help="The work's verifier may open connections.")
    ] = False,
    json_alone: Annotated[bool, typer.Option("--json", help="The VerificationResult as JSON.")] = False,
) -> None:
    """Judge an output by success criteria, and explain each criterion. No service is needed, nothing is stored.

    Files are JSON or YAML; `-` is standard input. A verifier that the work names is run too, as `--config` or an
    installed package has it, and decides with the criteria. Governance is not asked: bonuses follow success alone.

    Of a work with `science` the claims are held against the raw data, CSV, TSV, JSON lines or Parquet. There is no
    reviewer here: a work that demands `peer_review` can be rejected by arithmetic, and is else indeterminate.

    Exit codes: 0 passed, 1 rejected, 2 a file or an option is wrong, 3 indeterminate: the verifier itself has failed.
    """
    files = _read(output=output, criteria=criteria, work=work, metadata=metadata, claims=claims)
    raw = RawData(named_files("--artifact", artifact or ()), named_files("--data", data or ()))
    _hint_at_whole_candidate(files["output"])
    catalog = load_catalog(config)
    given = Given(**files, platform_latency_ms=platform_latency_ms, reasoning=reasoning_in(reasoning))
    asked = asked_of(given, catalog)
    candidate = asked.candidate(artifacts_of(raw.artifacts.items()))
    try:
        word = verifiers_word(asked, candidate, catalog, network=verifier_network)
        examined = _examined(asked, candidate, raw, catalog)
        found = _judged(asked.trial, candidate, catalog, examined)
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None  # 1 would say that the output was rejected
    result = combined(found, word, asked)
    if json_alone:
        told = project(result, Audience.CONSUMER, Disclosure(output=True))
        write_json(told | ({"verifier": as_json(str(asked.policy.verifier), word)} if word else {}))
    else:
        report = report_on(Console())
        _tell(asked, found, result, word, catalog, report)
        report.step("money", amounts(result, asked.budget))
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


def _examined(asked: Asked, candidate: Candidate, raw: RawData, catalog: Catalog) -> ScienceResult | None:
    """What the science gate concludes; None for a work without science."""
    if asked.trial.science is not None:
        from aex_cli.offline.examining import concluded  # noqa: PLC0415 for works with science

        return concluded(asked.trial.science, asked.trial.domain, candidate, raw, catalog)
    if raw.artifacts or raw.data or candidate.claimed_values:
        raise UserError("the work has no science: nobody would look at claims and raw data", "give it, in --work")
    return None


def _judged(trial: Trial, candidate: Candidate, catalog: Catalog, examined: ScienceResult | None) -> VerificationResult:
    """What criteria and science gate say: a work without either passes as delivered."""
    criteria = trial.success_criteria
    payload = {
        "contract_id": NO_CONTRACT,
        "candidate_hash": candidate_hash(candidate),
        "success_criteria": criteria.model_dump(mode="json") if criteria else None,
        "work_input": trial.input,
        "evaluation": trial.evaluation.model_dump(mode="json", exclude_none=True) if trial.evaluation else None,
        "output": trial.output,
        "execution_metadata": trial.execution_metadata.model_dump(mode="json", exclude_none=True),
        "platform_latency_ms": trial.platform_latency_ms,
        "science": examined.model_dump(mode="json") if examined else None,
        "config": catalog.config.as_json(),
    }
    runs = sum(is_custom(each.metric) for each in criteria.criteria) if criteria else 0
    answer = run_confined(JOB, payload, "verifying", for_custom(custom_ms(runs, catalog)))
    return VerificationResult.model_validate(answer["result"])


def _tell(
    asked: Asked,
    found: VerificationResult,
    result: VerificationResult,
    word: Word | None,
    catalog: Catalog,
    report: Report,
) -> None:
    """`found` by criteria and science gate; `result` as it stands under the verifier's word."""
    told = decided(asked.trial.success_criteria, found)
    if word is not None:
        told = f"{in_short(str(asked.policy.verifier), word)}; {told}"
    if result.verdict is Verdict.INDETERMINATE:
        report.step("verdict", f"{result.verdict}: {told}")
    else:
        report.step(result.verdict.value, told)
    for label, text in in_full(word) if word else []:
        report.step(label, text)
    if result.science is not None:
        _tell_science(result.science, report)
    if result.criterion_results:
        report.table(COLUMNS, criterion_rows(result), NUMBERS, FOLDED)
    for reason in reasons(result, catalog):
        report.step("not met", reason)


def _tell_science(science: ScienceResult, report: Report) -> None:
    rows = science_report.claim_rows(science)
    if rows:
        report.table(science_report.COLUMNS, rows, science_report.NUMBERS, "result")
    for label, text in science_report.findings(science):
        report.step(label, text)

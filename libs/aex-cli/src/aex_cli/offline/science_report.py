"""What the science gate found, in words and rows for whoever posted the work. Pure."""

from collections.abc import Iterator

from aex_cli.offline.named_verifier import in_one_line
from aex_models.examination import Reconciliation, ReconciliationStatus
from aex_models.science import ScienceResult
from aex_outcomes.in_words import written
from aex_outcomes.science_told import violation_told

COLUMNS = ("claim", "claimed", "recomputed", "off by", "result", "data")
NUMBERS = ("claimed", "recomputed", "off by")
_NOTHING = "–"


def gate_in_short(science: ScienceResult) -> str:
    """What the gate says, in a few words."""
    codes = ", ".join(dict.fromkeys(each.code for each in science.reasons))
    if science.passed is None:
        return f"the science gate cannot tell: {codes}"
    if not science.passed:
        return f"the science gate refuses it: {codes}"
    warned = ", ".join(dict.fromkeys(each.code for each in science.warnings))
    return f"the science gate passes it with a warning: {warned}" if warned else "the science gate passes it"


def claim_rows(science: ScienceResult) -> list[tuple[str, ...]]:
    """One row for each name that was claimed or recomputed, in the columns above."""
    return [_row(each) for each in science.examination.reconciliation]


def _row(each: Reconciliation) -> tuple[str, ...]:
    off = _NOTHING if each.relative_error is None else f"{100 * each.relative_error:.3g} %"
    matched = each.status is ReconciliationStatus.MISMATCH
    return (
        in_one_line(each.name),
        _NOTHING if each.claimed is None else written(each.claimed),
        _NOTHING if each.recomputed is None else written(each.recomputed),
        off,
        f"{each.severity} mismatch" if matched else each.status.value.replace("_", " "),
        _NOTHING if each.recomputed is None else "consumer's" if each.secret else "agent's",
    )


def findings(science: ScienceResult) -> list[tuple[str, str]]:
    """Everything else, as label and text: reasons without figures of their own, violations, problems with files."""
    return [(label, in_one_line(text)) for label, text in _findings(science)]


def _findings(science: ScienceResult) -> Iterator[tuple[str, str]]:
    for reason in science.reasons:
        if reason.code not in {"value_mismatch", "domain_violation"}:
            names = f" ({', '.join(reason.names)})" if reason.names else ""
            yield "science", f"{reason.code}{names}: {reason.message}" if reason.message else f"{reason.code}{names}"
    for violation in science.domain_violations:
        yield "violation", violation_told(violation)
    for problem in science.examination.problems:
        what = ", ".join(filter(None, (problem.artifact, problem.name)))
        yield "data", f"{what}: {problem.message} ({problem.code})" if what else f"{problem.message} ({problem.code})"
    for finding in science.examination.findings:
        yield "note", violation_told(finding)
    if science.examination.unchecked:
        yield "unchecked", f"no range covers {', '.join(science.examination.unchecked)}"

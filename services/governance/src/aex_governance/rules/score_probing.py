"""Fraud rule against probing: attempts with small edits while a secret metric climbs.

Large edits are revisions, and so is one small correction. Probing is:
- with three attempts: two tiny edits that both help;
- with four: small edits, of which one may fail;
- with more: most later attempts are better than earlier ones.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_models.governance import Action, Flag, PreviousAttempt, Severity
from aex_models.numbers import is_finite_number

_ROUNDING = 1e-6
"""Relative difference up to which two values count as equal."""
_MIN_FINAL_SHARE = 0.8
_CODE = "custom."
"""Prefix of metrics computed by a consumer's own code, where a lower value may be better."""


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a major flag with each secret metric that climbs over similar earlier attempts.

    Returns None if no metric climbs.
    """
    request = case.request
    near = [
        each
        for each in request.previous_attempts
        if each.similarity is not None
        and each.similarity >= thresholds["min_similarity"]
        and each.output_hash != request.output_hash
    ]
    climbing = {}
    for name, value in request.extracted_metrics.items():
        if is_finite_number(value) and not _is_open(name, thresholds["open_metrics"]):
            run = _run(name, float(value or 0), near, thresholds)
            if run is not None:
                climbing[name] = run
    if not climbing:
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.MAJOR,
        message=f"Small edits, attempt after attempt, while {', '.join(sorted(climbing))} climbs",
        evidence={
            "metrics": climbing,
            "attempts": len(request.previous_attempts) + 1,
            "min_similarity": thresholds["min_similarity"],
            "min_tiny_similarity": thresholds["min_tiny_similarity"],
        },
    )


def _is_open(name: str, patterns: Sequence[str]) -> bool:
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in patterns)


def _run(name: str, value: float, near: Sequence[PreviousAttempt], thresholds: Thresholds) -> dict[str, Any] | None:
    """Return the figures of the attempts in which this metric climbs; None if it does not climb."""
    known = [each for each in near if is_finite_number(each.metrics.get(name))]
    values = [*(float(each.metrics[name] or 0) for each in known), value]
    similarities = [each.similarity for each in known if each.similarity is not None]
    tiny = min(similarities, default=0.0) >= thresholds["min_tiny_similarity"]
    for sign in (1, -1) if name.startswith(_CODE) else (1,):
        climbs = _count_climbs([sign * each for each in values], thresholds, tiny=tiny)
        if climbs:
            return {"values": values, "climbs": climbs, "similarities": similarities}
    return None


def _count_climbs(values: Sequence[float], thresholds: Thresholds, *, tiny: bool) -> int:
    """Return the number of new best values if the sequence is probing, else 0.

    Probing includes failed edits. In a long sequence most later attempts are better than earlier ones, and the last is
    among the best. Scores that vary at random go down again.
    """
    best, climbs = values[0], 0
    for each in values[1:]:
        if _rises(best, each):
            best, climbs = each, climbs + 1
    steps, required = len(values) - 1, int(thresholds["min_climbs"])
    if steps < required:
        return climbs if tiny and climbs == steps >= thresholds["min_tiny_climbs"] else 0
    if steps == required:
        return climbs if climbs >= required - thresholds["max_failed_of_few"] and values[-1] >= best else 0
    if climbs < required or values[-1] - values[0] < _MIN_FINAL_SHARE * (best - values[0]):
        return 0
    return climbs if _rising_share(values) >= thresholds["min_rising_share"] else 0


def _rising_share(values: Sequence[float]) -> float:
    """Return the share of pairs of differing values in which the later is better (as Kendall's tau)."""
    pairs = list(combinations(values, 2))
    rising = sum(_rises(earlier, later) for earlier, later in pairs)
    falling = sum(_rises(later, earlier) for earlier, later in pairs)
    return rising / (rising + falling) if rising else 0.0


def _rises(earlier: float, later: float) -> bool:
    return later - earlier > _ROUNDING * max(abs(earlier), abs(later))


RULE = FraudRule(
    name="score_probing",
    description="Attempts that differ in small edits alone, while a metric that only evaluation data can tell climbs.",
    check=check,
    actions={Severity.MAJOR: Action.HOLD},
    threshold_notes={
        "min_similarity": "Similarity to the present output from which on an earlier attempt is a small edit away.",
        "min_tiny_similarity": "Similarity from which on an edit is so small that fewer climbs are a search.",
        "min_tiny_climbs": "Climbs after such tiny edits alone, one at each step, that are a search already.",
        "min_climbs": "New best values in near attempts from which on they are a search, with failed tries between.",
        "max_failed_of_few": "Of just `min_climbs` small edits, how many may have failed or changed nothing.",
        "min_rising_share": "Share of all pairs of attempts in which the later one has to be better, for a search.",
        "open_metrics": "Metrics that agents can work out themselves; `*` at the end stands for anything.",
    },
)

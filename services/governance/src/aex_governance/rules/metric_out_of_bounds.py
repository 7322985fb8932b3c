"""Fraud rule against metrics outside the bounds for their name, and values that are not finite."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_governance.rules.latency_impossible import DURATIONS, FIRST_BYTES, PROCESSINGS, parse_plain_number
from aex_models.governance import Action, Flag, Severity, ValidationRequest

_TIMES = (*DURATIONS, *FIRST_BYTES, *PROCESSINGS)
_WORD = re.compile(r"[a-z0-9]+")
_LONGEST_NAME = 200
"""Characters of a name above which no pattern is tried."""

Bounds = Sequence[float | None]


class MetricBounds:
    """Bounds `[least, most]` by metric name or pattern; `*` stands for any characters but a dot.

    A word of `either_sign` in a metric's name, such as `delta`, excludes the patterns that do not contain it. A word
    of `other_scale`, such as `percent`, excludes those of them that have an upper bound.
    """

    def __init__(self, bounds: Mapping[str, Bounds], either_sign: Iterable[str], other_scale: Iterable[str]) -> None:
        self._bounds = bounds
        self._either_sign = frozenset(each.casefold() for each in either_sign)
        self._other_scale = frozenset(each.casefold() for each in other_scale)
        patterns = sorted(
            (name for name in bounds if "*" in name), key=lambda name: (name.count("*") - len(name), name)
        )
        self._patterns = [
            (name, re.compile(r"[^.]*".join(map(re.escape, re.split(r"\*+", name.casefold()))))) for name in patterns
        ]

    def find_violation(self, name: str, value: float, tolerance: float) -> dict[str, Any] | None:
        """Return the bounds that a value violates, with their pattern if any; None if it violates none.

        `tolerance` allows for rounding: a weighted average of ones can exceed 1.
        """
        entry = self._entry_of(name)
        if entry is None:
            return None
        least, most = self._bounds[entry]
        if (least is None or value >= least - tolerance) and (most is None or value <= most + tolerance):
            return None
        return {"least": least, "most": most} | ({} if entry == name else {"bounds_of": entry})

    def _entry_of(self, name: str) -> str | None:
        if name in self._bounds:
            return name
        plain = name.casefold()
        if len(plain) > _LONGEST_NAME:
            return None
        if plain in self._bounds:
            return plain
        words = frozenset(_WORD.findall(plain))
        for entry, pattern in self._patterns:
            if pattern.fullmatch(plain) and not self._has_other_meaning(words, entry):
                return entry
        return None

    def _has_other_meaning(self, words: frozenset[str], entry: str) -> bool:
        further = words.difference(_WORD.findall(entry.casefold()))
        is_bounded_above = self._bounds[entry][1] is not None
        return bool(further & self._either_sign or (is_bounded_above and further & self._other_scale))


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a critical flag with each value that is not finite or out of bounds; None if there is none.

    Extracted, measured, reported and claimed values are checked; each name is reported once.
    """
    bounds = MetricBounds(thresholds["bounds"], thresholds["either_sign"], thresholds["other_scale"])
    tolerance = thresholds["tolerance"]
    outside: dict[str, dict[str, Any]] = {}
    for source, name, value in _values(case.request):
        if name in outside:
            continue  # a claim repeats what was extracted
        # isfinite fails for very large integers
        if value is None or not (isinstance(value, int) or math.isfinite(value)):
            outside[name] = {"value": value, "problem": "not finite", "source": source}
        elif (violation := bounds.find_violation(name, value, tolerance)) is not None:
            outside[name] = {"value": value, "source": source, **violation}
    if not outside:
        return None
    names = [name if each["source"] != "claimed" else f"{name} (claimed)" for name, each in sorted(outside.items())]
    return Flag(
        rule=RULE.name,
        severity=Severity.CRITICAL,
        message=f"Impossible values: {', '.join(names)}",
        evidence={"metrics": outside},
    )


def _values(request: ValidationRequest) -> Iterator[tuple[str, str, float | None]]:
    """Yield source, metric and value of each number; an extracted value of None is not finite."""
    reported = {name: parse_plain_number(request.execution_metadata.get(name)) for name in _TIMES}
    sources: Mapping[str, Mapping[str, bool | float | None]] = {
        "extracted": request.extracted_metrics,
        "platform": _known_values({"platform_latency_ms": request.platform_latency_ms}),
        "execution_metadata": _known_values(reported),
        "claimed": request.claimed_metrics,
    }
    for source, metrics in sources.items():
        yield from ((source, name, value) for name, value in metrics.items() if not isinstance(value, bool))


def _known_values(values: Mapping[str, float | None]) -> Mapping[str, float | None]:
    return {name: value for name, value in values.items() if value is not None}


RULE = FraudRule(
    name="metric_out_of_bounds",
    description=(
        "A bounded metric outside its range, a negative latency or count, or a value that is not finite: "
        "extracted, measured, reported or claimed."
    ),
    check=check,
    actions={Severity.CRITICAL: Action.REJECT},
    threshold_notes={
        "bounds": (
            "By metric `[least, most]`; null for no bound. A name may be a pattern, in which `*` stands for any "
            "characters but a dot: a metric's own name comes before patterns, and of several patterns the one with the "
            "most other characters holds. Patterns do not look at case. Metrics of consumers (`custom.NAME`) may be "
            "called anything, and rejection is final: keep patterns to names whose meaning is plain. "
            "Every value has to be finite, with bounds or without."
        ),
        "either_sign": "Words, such as `delta` or `log`, that exempt a name from every pattern without the same word.",
        "other_scale": "Words, such as `percent`, that exempt a name from patterns with a greatest value, likewise.",
        "tolerance": "Values beyond a bound by no more than this are rounding.",
    },
)

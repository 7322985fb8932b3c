"""The candidate addresses its reviewer: instructions, planted verdicts, hidden characters.

What it reads: the output's text, the other texts of the candidate (its reasoning) and the strings of its execution
metadata. What is a mention and not an address: see `injection.quotation`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from aex_governance.rules.case import Case
from aex_governance.rules.injection.effort import Effort
from aex_governance.rules.injection.finding import Finding, excerpt
from aex_governance.rules.injection.hidden import Limits, hidden_characters
from aex_governance.rules.injection.texts import encoded, opened, planted, spoken
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity

_MAX_FINDINGS = 50
_MAX_SHOWN = 8


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Read every text; the first findings of each kind are shown, all that were looked for are counted."""
    shown: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    effort = Effort()
    unread: Counter[str] = Counter()
    for source, offset, given in _parts(case, int(thresholds["max_characters"]), unread):
        # Halves of a surrogate pair are no characters: each is read as a question mark.
        text = given.encode("utf-8", "replace").decode("utf-8")
        for finding in islice(_findings(text, thresholds, effort, source), _MAX_FINDINGS):
            counts[finding.kind] += 1
            if len(shown) < _MAX_SHOWN and counts[finding.kind] <= 2:
                shown.append(
                    {
                        "kind": finding.kind,
                        "where": source,
                        "position": offset + finding.start,
                        "excerpt": excerpt(text, finding.start, finding.end),
                    }
                )
    if effort.beyond:
        counts["too_much_to_read"] += 1
    if not counts:
        return None
    kinds = ", ".join(sorted(counts))
    return Flag(
        rule=RULE.name,
        severity=Severity.MAJOR,
        message=f"The candidate addresses its reviewer: {kinds}",
        evidence={
            "counts": dict(sorted(counts.items())),
            "findings": shown,
            **({"not_looked_at": dict(sorted(beyond.items()))} if (beyond := effort.beyond + unread) else {}),
        },
    )


def _findings(text: str, thresholds: Thresholds, effort: Effort, source: str) -> Iterator[Finding]:
    if thresholds["hidden_characters"]:
        limits = Limits(
            zero_width=int(thresholds["min_zero_width"]),
            selectors=int(thresholds["min_stray_selectors"]),
            private_run=int(thresholds["min_private_run"]),
        )
        yield from islice((Finding(*found) for found in hidden_characters(text, limits)), _MAX_FINDINGS // 2)
    if thresholds["addressing"] or thresholds["planted_verdicts"]:
        read = opened(text)
        if thresholds["addressing"]:
            yield from spoken(read, effort)
        if thresholds["planted_verdicts"]:
            yield from planted(read, effort, may_answer=source == "output")
    if thresholds["encoded"]:
        yield from encoded(text, effort)


def _parts(case: Case, longest: int, unread: Counter[str]) -> Iterator[tuple[str, int, str]]:
    """Each text by what it is; of one beyond `longest` its beginning and its end, with where they begin."""
    for source, text in _texts(case):
        if len(text) <= longest:
            yield source, 0, text
            continue
        half = longest // 2
        unread[f"characters of {source}"] += len(text) - 2 * half
        yield source, 0, text[:half]
        yield source, len(text) - half, text[-half:]


def _texts(case: Case) -> Iterator[tuple[str, str]]:
    request = case.request
    if request.output_text:
        yield "output", request.output_text
    if request.other_text:
        yield "other texts", request.other_text
    metadata = "\n\n".join(_strings(request.execution_metadata))
    if metadata:
        yield "execution metadata", metadata


def _strings(value: Any) -> Iterator[str]:
    """Every string of a JSON value, keys too. Iterative: depth is the candidate's."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, Mapping):
            waiting += [*reversed(list(current.values())), *map(str, current)]
        elif isinstance(current, list | tuple):
            waiting += reversed(current)


RULE = FraudRule(
    name="judge_injection",
    description=(
        "The candidate addresses its reviewer: instructions to ignore, demands for a score, chat-template tokens, "
        "verdicts planted in text, hidden or bidirectional characters. Quoting or reporting such a text is honest."
    ),
    check=check,
    actions={Severity.MAJOR: Action.HOLD},
    threshold_notes={
        "max_characters": "Characters (code points) read of each text: of longer ones half of them at each end.",
        "addressing": "Whether words and chat tokens addressed to the reviewer are looked for.",
        "planted_verdicts": "Whether verdict objects and the reviewer's own keys are looked for.",
        "hidden_characters": "Whether invisible and bidirectional characters are looked for.",
        "encoded": "Whether Base64 that decodes to readable text is read too.",
        "min_zero_width": "Places with invisible characters between letters, from which on it is raised.",
        "min_stray_selectors": "Variation selectors after what has no variants, from which on it is raised.",
        "min_private_run": "Private-use characters in a row from which on it is raised.",
    },
)

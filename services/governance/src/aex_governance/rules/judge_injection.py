"""Fraud rule against candidates that address their grader.

It reads the output's text, the candidate's reasoning, and the strings of its execution metadata.
"""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_governance.rules.injection.hidden_characters import find_hidden_characters
from aex_governance.rules.injection.mentions import Mentions
from aex_governance.rules.injection.orders import find_direct_orders
from aex_governance.rules.injection.plain_text import InjectionSpan, format_excerpt, normalize_with_offsets
from aex_governance.rules.injection.planted_verdicts import (
    find_review_key_values,
    find_template_tokens,
    find_verdict_objects,
)
from aex_models.governance import Action, Flag, Severity

_MAX_FINDINGS = 50
_MAX_LISTED = 8
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*={0,2}")


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a flag with the counts by kind and the first findings; None if nothing is found."""
    listed: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    for source, offset, raw in _parts(case, int(thresholds["max_characters"]), unread):
        text = raw.encode("utf-8", "replace").decode("utf-8")  # the patterns refuse halves of surrogate pairs
        found = islice(_findings(text, thresholds, is_output=source == "output"), _MAX_FINDINGS)
        for kind, start, end in found:
            counts[kind] += 1
            if len(listed) < _MAX_LISTED and counts[kind] <= 2:
                span = {"position": offset + start, "excerpt": format_excerpt(text, start, end)}
                listed.append({"kind": kind, "where": source, **span})
    if not counts:
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.MAJOR,
        message=f"The candidate addresses its reviewer: {', '.join(sorted(counts))}",
        evidence={"counts": dict(sorted(counts.items())), "findings": listed}
        | ({"not_looked_at": dict(sorted(unread.items()))} if unread else {}),
    )


def _findings(text: str, thresholds: Thresholds, *, is_output: bool) -> Iterator[InjectionSpan]:
    if thresholds["hidden_characters"]:
        yield from islice(find_hidden_characters(text, thresholds), _MAX_FINDINGS // 2)
    plain = normalize_with_offsets(text)
    for kind, start, end in _readable_findings(plain.text, thresholds, is_output=is_output):
        yield InjectionSpan(kind, plain.origin(start), plain.origin(end))
    if thresholds["encoded"]:
        for match in _BASE64.finditer(text):
            lines = match.group().replace("\r", "").split("\n")
            if any(_hides_finding(run, thresholds) for run in {"".join(lines), lines[0]}):
                yield InjectionSpan("base64", *match.span())


def _readable_findings(text: str, thresholds: Thresholds, *, is_output: bool) -> Iterator[InjectionSpan]:
    """Yield the findings in a normalised text, without those that are mentions or examples."""
    mentions = Mentions(text)
    if thresholds["addressing"]:
        for found in chain(find_direct_orders(text), find_template_tokens(text)):
            if not mentions.is_mention(found.start):
                yield found
    if thresholds["planted_verdicts"]:
        for found in chain(find_review_key_values(text), find_verdict_objects(text, is_output=is_output)):
            if not mentions.is_example(found.start, found.end):
                yield found


def _hides_finding(run: str, thresholds: Thresholds) -> bool:
    decoded = _decode(run)
    return decoded is not None and any(
        _readable_findings(normalize_with_offsets(decoded).text, thresholds, is_output=False)
    )


def _decode(run: str) -> str | None:
    """Return the printable text that a run of Base64 encodes; None if it encodes none.

    Padding is optional, and both alphabets are read.
    """
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        decoded = base64.b64decode(body + "=" * (-len(body) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return decoded if all(character.isprintable() or character.isspace() for character in decoded) else None


def _parts(case: RuleCase, longest: int, unread: Counter[str]) -> Iterator[tuple[str, int, str]]:
    """Yield source, offset and text of each part to read.

    Of a text above `longest` characters only beginning and end are read; `unread` counts the other characters.
    """
    for source, text in _texts(case):
        if len(text) <= longest:
            yield source, 0, text
            continue
        half = longest // 2
        unread[f"characters of {source}"] += len(text) - 2 * half
        yield source, 0, text[:half]
        yield source, len(text) - half, text[-half:]


def _texts(case: RuleCase) -> Iterator[tuple[str, str]]:
    request = case.request
    texts = {
        "output": request.output_text,
        "other texts": request.other_text,
        "execution metadata": "\n\n".join(_strings(request.execution_metadata)),
    }
    yield from ((source, text) for source, text in texts.items() if text)


def _strings(value: Any) -> Iterator[str]:
    """Yield each string and key of a JSON value. Not recursive, as the candidate chooses the depth."""
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
        "The candidate addresses its reviewer: direct orders in five languages, chat-template tokens, verdicts planted "
        "in text, hidden or bidirectional characters, Base64 of these. Quoting or reporting such a text is honest."
    ),
    check=check,
    actions={Severity.MAJOR: Action.HOLD},
    threshold_notes={
        "max_characters": "Characters (code points) read of each text: of longer ones half of them at each end.",
        "addressing": "Whether direct orders to the reviewer and chat tokens are looked for.",
        "planted_verdicts": "Whether verdict objects and the reviewer's own keys are looked for.",
        "hidden_characters": "Whether invisible and bidirectional characters are looked for.",
        "encoded": "Whether Base64 that decodes to readable text is read too.",
        "min_zero_width": "Places with invisible characters between letters, from which on it is raised.",
        "min_stray_selectors": "Variation selectors after what has no variants, from which on it is raised.",
        "min_private_run": "Private-use characters in a row from which on it is raised.",
    },
)

"""Everything that a text says to its reviewer: read as it stands, its letters squeezed together, and decoded."""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

from aex_governance.rules.injection.addressing import addresses
from aex_governance.rules.injection.concealment import concealed
from aex_governance.rules.injection.effort import Effort
from aex_governance.rules.injection.finding import Finding
from aex_governance.rules.injection.folding import Folded, fold, unescaped
from aex_governance.rules.injection.lexicon import lexicon
from aex_governance.rules.injection.markers import forged_messages, template_tokens
from aex_governance.rules.injection.orders import forged_orders
from aex_governance.rules.injection.quotation import Quotations
from aex_governance.rules.injection.reading import Reading, read
from aex_governance.rules.injection.showing import is_shown
from aex_governance.rules.injection.squeezing import squeezed
from aex_governance.rules.injection.verdicts import (
    demanded_keys,
    everyday_verdicts,
    listed_verdicts,
    own_keys,
    told_verdicts,
)


@dataclass(frozen=True, slots=True)
class Text:
    """An original text, folded and read once."""

    original: str
    folded: Folded
    reading: Reading


def opened(original: str) -> Text:
    """Fold and read a text."""
    folded = fold(original, known=lambda word: bool(lexicon().mask(word)))
    return Text(original, folded, read(folded.text))


def spoken(text: Text, effort: Effort) -> Iterator[Finding]:
    """Addresses in a text, its mentions left out."""
    folded = text.folded
    yield from _addressed(folded, text.reading, effort)
    for start, end in concealed(text.reading, effort):
        yield Finding("unseen_words", folded.origin(start), folded.origin(end))
    apart = squeezed(folded)
    if apart is not None:
        yield from _addressed(apart, read(apart.text), effort, "spaced_letters")
    readable = unescaped(text.original)
    if readable is not None and readable != text.original:
        # Places are lost with the references: the whole text is named.
        again = opened(readable)
        yield from (
            Finding(found.kind, 0, len(text.original)) for found in _addressed(again.folded, again.reading, effort)
        )


def planted(text: Text, effort: Effort, *, may_answer: bool = True) -> Iterator[Finding]:
    """Verdicts in a text, its mentions left out. `may_answer`: whether it may be the answer itself."""
    folded = text.folded
    for start, end in (*own_keys(folded.text), *demanded_keys(folded.text)):
        if effort.spends("mentions") and not is_shown(folded.text, start, end, may_answer=may_answer):
            yield Finding("verdict_keys", folded.origin(start), folded.origin(end))
    for start, end in (
        *everyday_verdicts(folded.text, effort, may_answer=may_answer),
        *listed_verdicts(folded.text),
        *told_verdicts(folded.text),
    ):
        if effort.spends("mentions") and not is_shown(folded.text, start, end, may_answer=may_answer):
            yield Finding("verdict_object", folded.origin(start), folded.origin(end))


def encoded(text: str, effort: Effort) -> Iterator[Finding]:
    """Addresses in Base64: only what decodes to readable text is read."""
    for found in _base64().finditer(text):
        plain = _decoded(found.group())
        if plain is None:
            continue
        inner = opened(plain)
        if any(True for _ in _addressed(inner.folded, inner.reading, effort)):
            yield Finding("base64", *found.span())


def _addressed(folded: Folded, reading: Reading, effort: Effort, kind: str | None = None) -> Iterator[Finding]:
    quotations = Quotations(reading)
    for address in addresses(reading, effort):
        start, end = reading.starts[address.first], reading.ends[address.last]
        if _is_said(quotations, start, effort):
            yield Finding(kind or address.frame, folded.origin(start), folded.origin(end))
    for start, end in template_tokens(folded.text):
        if _is_said(quotations, start, effort):
            yield Finding(kind or "chat_template", folded.origin(start), folded.origin(end))
    for start, end in (*forged_messages(reading), *forged_orders(reading)):
        if _is_said(quotations, start, effort):
            yield Finding(kind or "forged_message", folded.origin(start), folded.origin(end))


def _is_said(quotations: Quotations, start: int, effort: Effort) -> bool:
    return effort.spends("mentions") and not quotations.is_mention(start)


def _decoded(run: str) -> str | None:
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        plain = base64.b64decode(body + "=" * (-len(body) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    is_readable = plain.count(" ") > 1 and all(char.isprintable() or char.isspace() for char in plain)
    return plain if is_readable else None


@cache
def _base64() -> Any:
    return re2.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")

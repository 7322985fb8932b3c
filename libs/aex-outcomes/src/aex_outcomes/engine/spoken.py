"""What a candidate says, wherever it says it: where a reviewer would read it, it may be copied or address them."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

MAX_OTHER = 50_000
"""Code points of what is said beside the text, in all; of the reasoning at most half as many."""
_ADDRESSING_SHARE = 0.25
"""Of that, for what lies between beginning and end of something too long and may address a judge."""
_SENTENCE_LIKE = 30
"""Code points from which on a name within an output counts as something said."""
_SENTENCE_WORDS = 5
"""A string of fewer is a label."""
_DECOY = 0.5
"""A text with fewer words than this share of what is said elsewhere is not what the output says."""
_WORD = re.compile(r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\d_]\w*")
"""Of scripts without blanks between words, each character."""
_CUT_LINE = 400
"""Code points of a line that are looked at, and kept, at once."""
_OVERLAP = 100
_ADDRESSING = (
    r"[\[\]{}<>|`\\\x{ad}\x{34f}\x{61c}\x{180e}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}\x{fe00}-\x{fe0f}\x{feff}\x{e0000}-\x{e0fff}]"
    r"|ignor|verdict|judg|grad(?:er|ing|e\s)|review|evaluat|assess|instruct|prompt|system\s*:|assistant|scor(?:e|ing)"
    r"|approv|accept|\bpass(?:ed)?\b|reward|criteri|disregard|overrid|rating|[a-z0-9+/]{60}"
    r"|anweisung|bewert|gutacht|urteil|prüfer|akzeptier|instruccion|evalua|juez|calific|acept|aprueb|veredicto"
    r"|juge|évalu|consigne|approuv|accepte|ignoriere|giudic|valuta|istruzion|punteggi|juiz|avalia|instruç|beoordel"
    r"|oceń|ocena|instrukcj|sędzi|değerlendir|talimat|puan|игнор|оцен|инструкц|судь|прими|одобр|балл"
    r"|تجاهل|تعليمات|تقييم|حكم|اقبل|निर्देश|मूल्यांक|अनदेखा|स्वीकार|忽略|无视|指令|评分|评审|评估|判定|通过|接受"
    r"|無視|指示|評価|採点|審査|合格|무시|지시|평가|채점|심사|승인"
)
"""A reader's eye-catchers, not a verdict: what they catch is read by rules that know mentions from addresses."""


def said_text(output: Any, text: str | None, longest: int) -> str | None:
    """The text; or all strings of the output in its order where there is none, or it is a decoy. None where there is
    nothing said at all.

    Cut at `longest` code points; halves of surrogate pairs become question marks.
    """
    if text and isinstance(output, str):
        return text
    strings = dict.fromkeys(_strings(output))
    if text:
        elsewhere = sum(_words(each) for each in strings if each != text)
        if not elsewhere or _words(text, least=0) >= _DECOY * elsewhere:
            return text
    joined = "\n".join(filter(None, _strings(output)))[:longest]
    return joined.encode("utf-8", "replace").decode() or text


def other_text(output: Any, told_text: str | None, told: int, reasoning: str | None) -> str | None:
    """The reasoning and the strings of the output, each once, a line for each; of `told_text` what is beyond `told`.

    `told_text` is one of the strings, or all of them joined. Of what is too long its beginning and its end, and between
    them the lines that may address a judge, so that no padding hides them. None where nothing is said.
    """
    strings = dict.fromkeys(_strings(output))
    if told_text is not None and told_text in strings:
        strings.pop(told_text)
        strings[told_text[told:]] = None
    elif told_text is not None:
        strings = {strings_of(output)[told:]: None}
    rest = "\n".join(filter(None, strings))
    thoughts = _shortened(reasoning or "", MAX_OTHER // 2)
    said = "\n".join(filter(None, (thoughts, _shortened(rest, MAX_OTHER - 1 - len(thoughts)))))
    return said or None


def strings_of(value: Any) -> str:
    """All strings within, a line for each, as they come."""
    return "\n".join(filter(None, _strings(value)))


def _strings(value: Any) -> Iterator[str]:
    """In the order of the document. Without recursion: nesting is the candidate's to choose."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            for key, inner in reversed(item.items()):
                waiting.append(inner)
                if isinstance(key, str) and len(key) >= _SENTENCE_LIKE:
                    waiting.append(key)
        elif isinstance(item, list | tuple):
            if set(map(type, item)) == {str}:  # labels, often, by the thousand
                yield from item
            else:
                waiting.extend(reversed(item))


def _words(text: str, least: int = _SENTENCE_WORDS) -> int:
    count = sum(1 for _ in _WORD.finditer(text))
    return count if count >= least else 0


def _shortened(text: str, size: int) -> str:
    """Beginning and end, and of what lies between the passages that may address a judge, again by their two ends."""
    if len(text) <= size:
        return text
    kept = int(_ADDRESSING_SHARE * size)
    half = (size - kept - 2) // 2
    pieces = list(dict.fromkeys(_pieces(text[half : len(text) - half])))
    first = _addressing(pieces, kept // 2)
    last = _addressing(reversed(pieces[len(first) and pieces.index(first[-1]) + 1 :]), kept // 2)
    between = "\n".join((*first, *reversed(last)))
    return "\n".join(filter(None, (text[:half], between, text[-half:])))


def _pieces(text: str) -> Iterator[str]:
    """Its lines; those that are long in pieces, each with some of what is before."""
    for line in text.split("\n"):
        for place in range(0, len(line), _CUT_LINE):
            yield line[max(place - _OVERLAP, 0) : place + _CUT_LINE]


def _addressing(pieces: Iterable[str], most: int) -> list[str]:
    """The first of the pieces with an eye-catcher, up to so many code points with a line break for each."""
    import re2  # noqa: PLC0415 loaded for what is too long

    pattern = re2.compile(f"(?i){_ADDRESSING}")
    found: list[str] = []
    room = most
    for piece in pieces:
        plain = unicodedata.normalize("NFKC", piece).encode("utf-8", "replace").decode()
        if pattern.search(plain):
            room -= len(piece) + 1
            if room < 0:
                break
            found.append(piece)
    return found

"""Recognition of mentions: suspicious text that is only quoted, reported or given as an example."""

import re
from bisect import bisect_right
from operator import itemgetter

import re2

_NEAR_BEFORE, _NEAR_AFTER = 240, 120
_MAX_LEAD_IN = 1_500
_MAX_LINE = 4_000
_JSON = ("{", "[")
_TOPIC = (
    r"\b(?:attack|angreif|angriff|attaqu|ataca|ataque|atacante|inject|injekt|inyecc|jailbreak|malicious|adversar|"
    r"payload|exploit|examples?\b|beispiel|exempl|ejempl|e\.g\b|z\. ?b\.|p\. ?ej\.|p\. ?ex\.|for instance|such as|"
    r"comme par|par ex|como por|quot(?:e|ed|es|ing)\b|phrases?\b|strings?\b|samples?\b|specimen|detect|filter|flagged|"
    r"blocked|classif|vulnerab|phishing|spam\b|smuggl|suspicious|untrusted|manipulat|dataset|test cases?\b|red.team|"
    r"zitat|zitier|citat|cita\b|citer|schadlich|zeichenkett|known as)|"
    r"攻击|注入|例如|比如|示例|样本|所谓|引用"
)
_SPEECH = (
    r"\b(?:said|says|saying|wrote|writes|written|reads|asked|asks|asking|told|tells|telling|instruct(?:s|ed|ing)|"
    r"shouted|replied|typed|called|titled|contain(?:s|ed|ing)|includ(?:es|ed|ing)|sagte|sagt|schrieb|schreib\w*|lautet|"
    r"enthalt\w*|dit|ecri\w*|contient|contenant|dijo|dice|escrib\w*|contiene)\b|说|写道|写着|称|包含"
)
_SHOWS = (
    r"\b(?:http/\d|endpoint|api|schema|documentation|documented|shows?|shown|returns?|returned|responds?|looks? like|"
    r"expects?|emits?|emitted|logs?|logged|plant(?:s|ed)|contain(?:s|ed)|liefert|renvoie|retourne|devuelve)\b|返回|接口|包含"
)
SENTENCE_END = re.compile(r"[.!?](?=[\s\"'”»)\]]|$)|[。！？]|\n\s*\n|\n\s*(?=#|//|--|/\*|<!--|\"{3}|'{3})")
_FRAME = re.compile(r"(?:```|~~~)[a-z]{0,12}|</?[a-z_-]{1,20}>|[`\"'“”„«»]")
_PAIRS = (("`", "`"), ("“„", "“”"), ("«", "»"), ("「", "」"), ("『", "』"), ("‹", "›"))
_MARKED = "|".join(rf"[{opening}](?:\n?[^\n{closing}])*[{closing}]" for opening, closing in _PAIRS)
_QUOTATION = (
    r"(?m)(```(?s:.*?)(?:```|\z)|~~~(?s:.*?)(?:~~~|\z)|^ {0,3}>[^\n]*)"
    rf"|({_MARKED})|(?:^|[\s(\[=—–:,>|])(\"(?:\n?[^\n\"])*\"|'(?:\n?[^\n']|'\w)*'\B)"
)
_BLOCK, _STRAIGHT = 1, 3
"""Numbers of groups in `_QUOTATION`: a block quotation, and one in straight quotation marks."""
_ITEM = re.compile(r"\s{0,8}(?:[-*•+>|]|\d{1,3}[.)]|[a-z][.)]\s|[\"'“«`])")


class Mentions:
    """Finder of mentions in one text: passages that are only quoted, reported or given as an example.

    The text is normalised (`PlainText.text`).
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._quotations = [
            (*match.span(match.lastindex), match.lastindex == _BLOCK)
            for match in re2.compile(_QUOTATION).finditer(text)
            if not (match.lastindex == _STRAIGHT and _starts_data(text, match.start(match.lastindex)))
        ]

    def is_mention(self, offset: int) -> bool:
        """Return whether the text at this offset is quoted, reported or listed as an example."""
        index = bisect_right(self._quotations, offset, key=itemgetter(0)) - 1
        start, end, is_block = self._quotations[index] if index >= 0 else (0, 0, False)
        if offset >= end:
            head = extract_unfinished_sentence(self._text[max(0, offset - _NEAR_BEFORE) : offset])
            if _starts_data(self._text, offset):
                head += self._text[offset : offset + _NEAR_BEFORE].split("\n", maxsplit=1)[0]
            return bool(re2.compile(_TOPIC).search(head)) or self._is_listed(offset) or _is_speech(head[-40:])
        before, after = self._text[max(0, start - _NEAR_BEFORE) : start], self._text[end : end + _NEAR_AFTER]
        if re2.compile(_TOPIC).search(before) or re2.compile(_TOPIC).search(after) or _is_speech(before[-80:]):
            return True
        leading, following = before.rstrip(" (")[-1:], after.lstrip(" )")[:1]
        continues = following.isalpha() or following in tuple(",—–，、")
        is_embedded = continues or bool(leading and leading not in ".!?。！？\n:>")
        return self._is_listed(start) or (is_embedded and not is_block)

    def is_example(self, start: int, end: int) -> bool:
        """Return whether the sentence before or after the span says that it is an example."""
        before = extract_unfinished_sentence(
            _FRAME.sub(" ", self._text[max(0, start - _NEAR_BEFORE) : start]).rstrip(" \n:")
        )
        after = _FRAME.sub(" ", self._text[end : end + _NEAR_BEFORE]).lstrip(" \t\n}]),.;")
        return any(
            len(sentence.split()) > 2 and (re2.compile(_TOPIC).search(sentence) or re2.compile(_SHOWS).search(sentence))
            for sentence in (before, SENTENCE_END.split(after, maxsplit=1)[0])
        )

    def _is_listed(self, offset: int) -> bool:
        """Return whether a list item or table row at this offset follows a line that announces examples."""
        text = self._text
        line = text.rfind("\n", 0, offset) + 1
        floor = max(0, line - _MAX_LEAD_IN)
        if not _ITEM.match(text, line):
            return False
        while line > floor:
            before = max(text.rfind("\n", floor, line - 1) + 1, floor)
            content, line = text[before : line - 1], before
            is_item = bool(_ITEM.match(content))
            if content.strip() and (not is_item or content.lstrip()[:1] == "|"):
                if re2.compile(_TOPIC).search(content):
                    return True
                if not is_item:
                    return False
        return False


def extract_unfinished_sentence(text: str) -> str:
    """Return the unfinished sentence at the end of a text: what follows the last end of a sentence."""
    start = 0
    for match in SENTENCE_END.finditer(text, 0, max(0, len(text) - 1)):
        start = match.end()
    return text[start:]


def _is_speech(before: str) -> bool:
    return bool(re2.compile(rf"(?:{_SPEECH})[^.!?\n]{{0,25}}$").search(before))


def _starts_data(text: str, offset: int) -> bool:
    """Return whether the text or the line begins as JSON, in which quotation marks are syntax."""
    line = text.rfind("\n", max(0, offset - _MAX_LINE), offset) + 1
    return text[:200].lstrip()[:1] in _JSON or text[line : line + 40].lstrip()[:1] in _JSON

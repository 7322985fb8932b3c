r"""Labels of a multiple-choice question that an answer gives.

Grammar of a list of labels, in Wirth's notation:

    list      = item {separator item}.
    item      = [marks] label [marks].
    separator = "," | ";" | "/" | "&" | "|" | "and" | "or".
    marks     = brackets, quotation marks, emphasis, "$" or "\boxed{", in any number.

Blanks may surround a separator. A label is the key of an option, or a correct label. If one of them is a single letter,
any single letter is a label. If one is a number of up to two digits, any such number is a label. Case is ignored.

An answer gives the labels of the first of these that it has:

1. The complete text is a list. White space separates too, and end marks (. ! ? : ; ,) may follow.
2. The last "answer:" or "answer is" is followed by a list. If the line continues behind the list, an option's text that
   fills the line or sentence precedes it. "Option" or "choice" may stand before the list. An article or pronoun is no
   label there: "a" or "I" before a word, unless a label is written so.
3. The complete text is an option's text. This precedes a list with an unknown label.

An option's text may follow its label. Texts are compared in NFKC, with case folded and single blanks, without a leading
article and marks around them. Reading takes time linear in the text's length.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from aex_outcomes.kernels.normalization import normalize

_OPENING, _CLOSING = "*`\"'“‘«([{$", "*`\"'”’»)\\]}$"
_END_MARKS = ".!?:;,"
_LABEL_SHAPES = (r"[^\W\d_]", "[0-9]{1,2}")
"""Patterns of unknown labels; each applies if it matches a known label."""
_SEPARATOR = re.compile(r"(?:\s*+(?:[,;/&|]|(?:and|or)\b))++\s*+", re.IGNORECASE)
_BLANKS = re.compile(r"\s++")
_ANSWER = re.compile(r"\banswers?[*_`]*+\s*+(?:(?:is|are)\b\s*+:?|:)", re.IGNORECASE)
_BEFORE_LIST = re.compile(r"[\s*`]*+(?:(?:option|choice)s?\s++)?", re.IGNORECASE)
_WORD = re.compile(r"\s+\w")
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)")
_BEHIND_LABEL = re.compile(r"[\s.:)–-]*+")
_ARTICLE = re.compile(r"(?:an?|the) (?=.)")
_WORDS_OF_ONE_LETTER = frozenset({"a", "I"})
MAX_OPTION_TEXT = 10_000
"""Maximum characters of a text that is compared with the options; those have at most 500 each."""


class _LabelList(NamedTuple):
    """Labels of a list in lower case, and the position behind it."""

    labels: frozenset[str]
    end: int


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """Labels and options of a question, prepared for reading answers."""

    known: frozenset[str]
    """Labels as they are written."""
    known_folded: frozenset[str]
    """Labels with case folded."""
    correct: frozenset[str]
    """Correct labels, with case folded."""
    label_by_text: Mapping[str, str]
    """Folded label of each option, by the option's normalised text."""
    item: re.Pattern[str]
    """Pattern of an item of a list."""

    @classmethod
    def from_data(cls, correct: str | Iterable[str], options: Mapping[str, str] | None) -> "ChoiceQuestion":
        """Prepare a question with these correct labels, and the text of each option by its label."""
        right = frozenset([correct] if isinstance(correct, str) else correct)
        known = right | frozenset(options or ())
        labels = [re.escape(each) for each in sorted(known, key=lambda each: (-len(each), each))]
        shapes = [shape for shape in _LABEL_SHAPES if any(re.fullmatch(shape, each) for each in known)]
        alternatives = "|".join([*labels, *shapes])
        opening, closing = (f"[{re.escape(each)}]" for each in (_OPENING, _CLOSING))
        item = rf"(?:\\boxed|{opening})*+({alternatives})(?![\w+#]|[-‑’'.]\w){closing}*+"
        return cls(
            known=known,
            known_folded=frozenset(map(str.casefold, known)),
            correct=frozenset(map(str.casefold, right)),
            label_by_text={normalize_option(text): label.casefold() for label, text in (options or {}).items()},
            item=re.compile(item, re.IGNORECASE),
        )

    def is_correct(self, text: str) -> bool:
        """Return True if the answer's labels are the correct ones, in any order."""
        return self.read_labels(text) == self.correct

    def read_labels(self, text: str) -> frozenset[str]:
        """Return the labels that an answer gives, with case folded; empty if it gives none."""
        answer = text.strip()
        listed = self._read_list(answer, blanks_separate=True)
        if listed.labels and not answer[listed.end :].strip(_END_MARKS):
            return listed.labels if listed.labels <= self.known_folded else self._read_option(answer) or listed.labels
        behind = [found.end() for found in _ANSWER.finditer(answer)]
        labels = self._read_clause(answer[behind[-1] :]) if behind else frozenset()
        return labels or self._read_option(answer)

    def _read_clause(self, text: str) -> frozenset[str]:
        """Return the labels at the beginning of a text that follows "answer:" or "answer is"."""
        clause = text[_BEFORE_LIST.match(text).end() :]  # type: ignore[union-attr]  # matches the empty text too
        line = clause.partition("\n")[0].rstrip()
        listed = self._read_list(line)
        if listed.labels <= self.known_folded and not line[listed.end :].strip(_END_MARKS):
            return listed.labels
        sentence = _SENTENCE_END.split(line, maxsplit=1)[0]
        return self._read_option(line) or self._read_option(sentence) or listed.labels

    def _read_list(self, text: str, *, blanks_separate: bool = False) -> _LabelList:
        """Return the list of labels with which the text begins; without labels if it begins with none."""
        return _collect(self._items(text, blanks_separate=blanks_separate))

    def _items(self, text: str, *, blanks_separate: bool) -> Iterator[tuple[str, int]]:
        position = 0
        while found := self.item.match(text, position):
            label, end = found[1], found.end()
            separator = _SEPARATOR.match(text, end)
            is_word = label in _WORDS_OF_ONE_LETTER and label not in self.known and not separator
            if is_word and not blanks_separate and _WORD.match(text, end):
                return
            yield label.casefold(), end
            separator = separator or (_BLANKS.match(text, end) if blanks_separate else None)
            if separator is None:
                return
            position = separator.end()

    def _read_option(self, text: str) -> frozenset[str]:
        """Return the label of the option with this text, which may follow its label; empty if there is none."""
        if len(text) > MAX_OPTION_TEXT or not self.label_by_text:
            return frozenset()
        label = self.label_by_text.get(normalize_option(text))
        if label is None and (found := self.item.match(text)):
            rest = text[_BEHIND_LABEL.match(text, found.end()).end() :]  # type: ignore[union-attr]
            behind = self.label_by_text.get(normalize_option(rest))
            label = behind if behind == found[1].casefold() else None
        return frozenset() if label is None else frozenset({label})


def _collect(items: Iterator[tuple[str, int]]) -> _LabelList:
    labels, end = set(), 0
    for label, end in items:  # noqa: B007 the last end counts
        labels.add(label)
    return _LabelList(frozenset(labels), end)


def normalize_option(text: str) -> str:
    """Return an option's text in the form in which it is compared; a text of marks alone keeps them."""
    folded = " ".join(normalize(text, None).split())
    plain = folded.lstrip(_OPENING + " ").rstrip(_CLOSING + _END_MARKS + " ")
    return _ARTICLE.sub("", plain, count=1) if _ARTICLE.match(plain) else plain or folded

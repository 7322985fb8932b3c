"""Who a verb is about: graders told of are not graders spoken to."""

import re

from aex_governance.rules.injection.lexicon import BIT
from aex_governance.rules.injection.reading import Reading

_TOPIC = ("は", "が")
_OFTEN = ("会", "常", "往往", "有时", "通常", "可能", "总", "也", "不应", "经常", "曾", "偶")
_POLITE = re.compile("ください|下さい|なさい|せよ|べき|こと。|お願い|ように。")
_ELIDED = frozenset(["l", "d"])
_SENTENCE = 120
_ARABIC_END = "\u06ff"


def is_told_of_graders(reading: Reading, place: int) -> bool:
    """Graders are the verb's subject: nobody is spoken to. "Reviewers should ignore …", "Prüfer übergehen …".

    Not where words of address stand in the clause, nor in "Grader ignore …" at its head.
    """
    if reading.fresh[place]:
        return False
    if reading.word(place)[:1] > _ARABIC_END:
        return _is_told_in_the_east(reading, place)
    subject = -1
    for other in range(place - 1, max(-1, place - 8), -1):
        mask = reading.masks[other]
        if mask & (BIT["you"] | BIT["attention"]) and not mask & BIT["grader"]:
            return False
        if mask & BIT["grader"] and not mask & BIT["you"]:
            subject = other
        if reading.fresh[other]:
            break
    article = reading.word(subject - 1) in _ELIDED if subject > 0 else False
    bare = (
        not article
        and subject == place - 1
        and reading.fresh[subject]
        and reading.masks[place] & (BIT["disregard"] | BIT["award"])
    )
    return subject >= 0 and not (bare and not reading.word(subject).endswith("s"))


def _is_told_in_the_east(reading: Reading, place: int) -> bool:
    """採点者は…ことがある; 评委有时… Not: 採点者は…ください."""
    for other in range(place - 1, max(-1, place - 8), -1):
        if reading.masks[other] & BIT["grader"]:
            after = reading.text[reading.ends[other] : reading.ends[other] + 2]
            if after.startswith(_TOPIC):
                rest = reading.text[reading.starts[place] : reading.starts[place] + _SENTENCE]
                return not _POLITE.search(rest.partition("。")[0] + "。")
            return after.startswith(_OFTEN)
        if reading.fresh[other]:
            break
    return False

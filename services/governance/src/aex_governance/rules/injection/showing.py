"""Whether a text shows a verdict as a specimen: what an interface returns, what an attacker planted, what a log held.

Its author then says so where the specimen begins or ends: in the words of its own line, or in the last sentence before
it and the first after it. Words of reporting further off are about something else.

Beside an answer, in the agent's own reasoning, a reviewer who "has decided already" makes no specimen: nobody has
decided anything there.
"""

import re
from functools import cache
from typing import Any

import re2

_NEAR = 240
_SENTENCE_END = re.compile(r"[.!?。！？।؟](?=\s|$)|\n\s*\n")
_FRAME = re.compile(r"(?:```|~~~)[a-z]{0,12}|</?[a-z_-]{1,20}>|[`\"'“”«»]")
_STOPS = frozenset(".!?。！？।؟")
_IS = re.compile(r"\b(?:is|are|was|were|has|have|had|gets|got|gave|like|ist|war|es|est)\b")
_FORESTALLED = (
    r"\b(?:reviewers?|graders?|judges?|verifiers?|evaluators?)\b[^.!?\n]{0,30}\b(?:has|have|had)\b[^.!?\n]{0,30}"
    r"\b(?:decided|concluded|ruled|approved|accepted|agreed|settled)\b"
)
"""A verdict that is said to have been given: no specimen, unless words of showing say that it is one."""
_WHAT = (
    r"\b(?:json|api|apis|endpoints?|https?|curl|requests?|schema|formats?|functions?|methods?|status code|"
    r"responses?|outputs?|payloads?|objects?|keys?|fields?|parsers?|validators?|logs?|scripts?|servers?|clients?|"
    r"verdicts?|verdikte?|urteile?|veredictos?|judges?|graders?|reviewers?|models?|assistants?|attack\w*|inject\w*|"
    r"strings?|snippets?|lines?|blocks?|configs?|configuration|structure|document\w*|prompts?|rules?|antwort\w*|"
    r"respuestas?|réponses?|reponses?|answers?|results?|messages?)\b|ответ|объект|вердикт|攻击|注入|格式|接口|返回|对象|"
    r"裁决|الرد|كائن|حكم|उत्तर|वस्तु"
)
_HOW = (
    r"\b(?:returns?|returned|respond\w*|repl(?:y|ies|ied)|answer(?:s|ed)|looks? like|reads?|shows?|shown|examples?|"
    r"e\.g|such as|for instance|called|sent|sends?|emits?|produces?|prints?|logs?|logged|plant\w*|hid\w*|contain\w*|"
    r"inserts?|inserted|appends?|appended|writes?|wrote|attack\w*|inject\w*|expects?|expected|specimen|sample\w*|"
    r"defines?|describes?|documents?|documented|receives?|follow\w*|below|above|http/[0-9.]+|"
    r"beispiel\w*|liefert|lautet|enthielt|enthält|ejemplo\w*|devuelve|contiene|exemple\w*|renvoie|contient)\b|"
    r"пример|возвращает|содерж|例如|例子|示例|返回|包含|مثال|مثل|يعيد|تعيد|उदाहरण|जैसे|लौटाता"
)


def is_shown(text: str, start: int, end: int, *, may_answer: bool = True) -> bool:
    """Whether what stands there in a folded text is a specimen. `may_answer`: whether the text may be the answer."""
    before, after = _last_sentence(text[max(0, start - _NEAR) : start]), _first_sentence(text[end : end + _NEAR])
    return _introduces(before, may_answer=may_answer) or _introduces(after, may_answer=may_answer)


def _introduces(sentence: str, *, may_answer: bool) -> bool:
    """It names the kind of thing and says what is done with it, in more words than a heading has."""
    if len(sentence.split()) < 3 or not _what().search(sentence):
        return False
    # A sentence that runs on into the specimen needs no more than a verb.
    runs_on = sentence[-1:] not in _STOPS and _IS.search(sentence)
    if runs_on and not may_answer and _forestalled().search(sentence):
        runs_on = None
    return bool(runs_on or _how().search(sentence))


def _last_sentence(before: str) -> str:
    before = _FRAME.sub(" ", before).rstrip()
    ends = [found.end() for found in _SENTENCE_END.finditer(before[:-1])]
    return before[ends[-1] :] if ends else before


def _first_sentence(after: str) -> str:
    after = _FRAME.sub(" ", after).lstrip(" \t\n}]),.;")
    end = _SENTENCE_END.search(after)
    return after[: end.start()] if end else after


@cache
def _forestalled() -> Any:
    return re2.compile(_FORESTALLED)


@cache
def _what() -> Any:
    return re2.compile(_WHAT)


@cache
def _how() -> Any:
    return re2.compile(_HOW)

"""Marks of a conversation that is not one: chat templates, forged messages of a system or a tool.

A template's own tokens and tags that only a reviewer's prompt has count alone. What honest texts have too (a line that
begins with "System:", a tag `<system>`, a comment) counts where the words after it speak of verdicts or instructions.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import re2

from aex_governance.rules.injection.grammar import AWARD, DISREGARD, PERFECT
from aex_governance.rules.injection.lexicon import BIT
from aex_governance.rules.injection.neighbourhood import Neighbourhood
from aex_governance.rules.injection.reading import Reading

_WORDS_AFTER = 28
_WEIGHTY = BIT["highest"] | BIT["instructions"] | BIT["passing"]
_TOKENS = (
    r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|eom_id|start_header_id|end_header_id|"
    r"begin_of_text|end_of_text|endofprompt|end|start|channel|message|return)\|>",
    r"<\|?(?:im_start|im_end)\|?>",
    r"\[/?inst\]",
    r"<</?sys>>",
    r"<(?:start_of_turn|end_of_turn)>",
    r"\[/?(?:system_prompt|available_tools|tool_results|tool_calls)\]",
    r"</?(?:system[_-]?(?:prompt|message|instructions?|override)|(?:tool|function)[_-](?:results?|response|output)|"
    r"(?:candidate|untrusted|submission|agent)[_-](?:output|answer|response|text|content|data|submission)|"
    r"(?:grader|judge|reviewer|evaluator|evaluation|grading)[_-](?:instructions?|notes?|prompt|override))"
    r"(?:\s[^<>\n]{0,80})?/?>",
    r"\byou are (?:now )?(?:dan\b|unrestricted|jailbroken|in (?:developer|dan|god) mode)",
)
_HINTS = (
    r"(?m)^[\s>*_\-\[({#|]{0,8}(?:system|assistant|developer|tool|human|user|admin|administrator|grader|judge|"
    r"evaluator|verifier|operator|instruction|response|moderator)(?:[ _](?:message|prompt|note|notice|notification|"
    r"override|update|output|result|instruction))?[\])}*_#|]{0,4}\s{0,2}[:>\]]",
    r"</?(?:system|assistant|grader|judge|evaluator|reviewer|instructions?|important|developer|verifier|admin|hidden)>",
    r"\[/?(?:system|assistant|grader|judge|evaluator|reviewer|instructions?|important|developer|admin)\]",
    r"\\?[\"']role\\?[\"']\s{0,4}:\s{0,4}\\?[\"'](?:system|developer|tool|assistant)",
    r"\b(?:system|admin|administrator|developer|safety|grading|evaluation|root)[ _-](?:override|overwrite)\b",
    r"\b(?:developer|dan|debug|god|sudo|admin|jailbreak|maintenance)[ _-]mode\b",
    r"\b(?:you are now|you're now|from now on,? you)\b",
)


def template_tokens(text: str) -> Iterator[tuple[int, int]]:
    """Where a chat template's tokens stand in a folded text."""
    for found in _tokens().finditer(text):
        yield found.span()


def forged_messages(reading: Reading) -> Iterator[tuple[int, int]]:
    """Where a message of somebody else's is forged. Places in the folded text."""
    word = 0
    ahead = Neighbourhood(reading.masks).ahead(32)
    for found in _hints().finditer(reading.text):
        while word < len(reading.starts) and reading.starts[word] < found.end():
            word += 1
        # The words of any forged message are among the next ones: most hints need no close look.
        if (
            word < len(ahead)
            and ahead[word] & _WEIGHTY
            and _weighs(reading, range(word, min(len(reading.starts), word + _WORDS_AFTER)))
        ):
            yield found.span()


def _weighs(reading: Reading, places: range) -> bool:
    found, perfect = 0, False
    for place in places:
        found |= reading.masks[place]
        perfect |= reading.word(place) in PERFECT
    judged = found & (BIT["grader"] | BIT["product"] | BIT["check"])
    best = perfect or (found & BIT["highest"] and found & BIT["score"])
    awarded = best and judged and found & (AWARD if not perfect else AWARD | BIT["passing"])
    instructed = found & BIT["instructions"] and found & (DISREGARD | BIT["new"])
    passed = found & BIT["passing"] and found & BIT["product"] and found & BIT["grader"]
    return bool(awarded or (instructed and found & (BIT["reference"] | BIT["you"] | BIT["grader"])) or passed)


@cache
def _tokens() -> Any:
    return re2.compile("|".join(f"(?:{token})" for token in _TOKENS))


@cache
def _hints() -> Any:
    return re2.compile("|".join(f"(?:{hint})" for hint in _HINTS))

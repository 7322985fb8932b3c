"""The tokens of mteval-v13a (NIST), as sacrebleu makes them (`sacrebleu.tokenizers.tokenizer_13a`, Post 2018).

Its rules, in their order: a symbol stands alone; so does a point or a comma behind what is no digit, and then one
before what is no digit; and a dash behind a digit. Written as four regular expressions they look at each character four
times. All that they do is to put blanks around a few characters, so that most texts need none of them: a symbol that
the text has not costs one look here, and one that it has one replacement.
"""

import re

_ALWAYS_ALONE = '!"#$%&()*+/:;<=>?@[\\]^_`{|}~'
_DIGITS = "0123456789"
_POINT = re.compile(r"\.(?:(?![0-9])|(?<![0-9]\.))")
_COMMA = re.compile(r",(?:(?![0-9])|(?<![0-9],))")
_DASH_AFTER_DIGIT = re.compile(r"-(?<=[0-9]-)")
_SEVERAL_BEFORE_DIGIT = re.compile(r"[.,][.,][0-9]")
_POINT_AFTER_NON_DIGIT = re.compile(r"([^0-9])([.,])")
_POINT_BEFORE_NON_DIGIT = re.compile(r"([.,])([^0-9])")


def tokenize_13a(text: str) -> list[str]:
    """The tokens of a text."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        text = text.replace("&quot;", '"').replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
    for symbol in _ALWAYS_ALONE:
        if symbol in text:
            text = text.replace(symbol, f" {symbol} ")
    if any(digit in text for digit in _DIGITS):
        return _DASH_AFTER_DIGIT.sub(" - ", _points_apart(text)).split()
    return text.replace(".", " . ").replace(",", " , ").split()


def _points_apart(text: str) -> str:
    """Points and commas between two digits belong to the number; all others stand alone, if there is only one.

    The rules take two characters at a time: of several before a digit the last one may stay with it, which depends on
    how many they are. There, they are followed to the letter.
    """
    if _SEVERAL_BEFORE_DIGIT.search(text) is None:
        return _COMMA.sub(" , ", _POINT.sub(" . ", text))
    return _POINT_BEFORE_NON_DIGIT.sub(r" \1 \2", _POINT_AFTER_NON_DIGIT.sub(r"\1 \2 ", f" {text} "))

"""Translation of JavaScript's regular expressions. The expected matches are those of Node 20."""

import pytest

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.regex_writer import translate_regex
from aex_outcomes.kernels.patterns import compile_pattern

MATCHES = [
    (r"\d{4}", ["in 2024"], ["in 24", "٢٠٢٤"]),
    (r"^yes$", ["yes"], ["yes\n", "a\nyes", "Yes"]),
    (r"^\s+$", ["\u00a0\ufeff\u2028"], ["\x85", "\x1c", ""]),
    (r"^\S+$", ["a😀\x85"], ["a b", "\ufeff"]),
    (r"^.*$", ["😀 a"], ["a\rb", "a\u2028b"]),
    (r"a.c", ["abc", "xa.c"], ["a😀c", "a\nc"]),
    (r"x.", ["x😀", "xy"], ["x\n", "x"]),
    (r"^(.+): (.+)$", ["a: 😀"], [": a", "a:b"]),
    (r"^(?<name>[a-z]+)@(?:x|y)\.com$", ["ab@x.com"], ["ab@x_com", "@y.com"]),
    (r"\bcat\b", ["a cat.", "écaté cat"], ["cats", "concat"]),
    (r"[^]", ["\n"], [""]),
    (r"[]", [], ["a", ""]),
    (r"^{x,}$", ["{x,}"], ["x"]),
    (r"\u00e9\x41\t", ["éA\t"], ["eA\t"]),
    (r"[\w.-]+@\w+", ["a.b-c@d"], ["é@é"]),
    (r"[a\]^-]", ["]", "^", "-"], ["b"]),
    (r"^a|b$", ["ab", "ax", "xb"], ["xa", "bx"]),
    (r"😀", ["a😀"], ["😁"]),
    (r"(a*)*b", ["b", "aab"], ["a"]),
]
LISTED = [
    r"^(?!.*foo)", r"(?<=a)b", r"(a)\1", r"\k<a>", r"(?i:a)", r"\p{L}", r"\A", r"\z", r"\B", r"\u{41}", r"^.{1,280}$",
    r".?x", r".+.+", r"(?:a.)+", r"[😀]", r"😀+", r"[\ud800-\udbff]", r"a**", r"*a", r"a{2}{3}", r"x{2,1}", r"(a",
    r"a)", r"[a", "a\\", r"[z-a]", r"[a-\d]", r"^*", r"x{2000}", r"(?:^|x).y", r"\01", "a" * 20_000,
    "(" * 60 + ")" * 60,
]  # fmt: skip


@pytest.mark.parametrize(("source", "matching", "others"), MATCHES, ids=[each[0] for each in MATCHES])
def test_translated_patterns_match_the_same_texts(source: str, matching: list[str], others: list[str]) -> None:
    compiled = compile_pattern(translate_regex(source))
    assert [text for text in matching if compiled.search(text) is None] == []
    assert [text for text in others if compiled.search(text) is not None] == []


@pytest.mark.parametrize("source", LISTED, ids=[each[:20] for each in LISTED])
def test_patterns_without_an_equal_one_are_not_translated(source: str) -> None:
    with pytest.raises(NotTranslatable) as raised:
        translate_regex(source)
    assert raised.value.kind == "regex"

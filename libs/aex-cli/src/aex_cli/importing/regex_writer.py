r"""Writer of JavaScript regular expressions for RE2, so that both find a match in the same texts.

JavaScript matches UTF-16 code units, RE2 code points. An atom such as `.` or `[^a]` also matches the halves of a
character beyond U+FFFF; here it is called wide. A repeated wide atom is written as it is where nothing can separate two
halves. A single one between narrow neighbours cannot match such a character at all.
"""

from collections.abc import Iterable, Sequence

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.javascript_regex import RegexParser
from aex_cli.importing.regex_nodes import (
    ONCE,
    Alternatives,
    Anchor,
    AstralCharacter,
    CodeUnit,
    Node,
    Ranges,
    Repeat,
    invert_ranges,
    make_pattern_error,
)
from aex_outcomes.kernels.patterns import InvalidPattern, check_pattern

_SURROGATES = (0xD800, 0xDFFF)
_PLAIN = frozenset(" _,:;'\"/<>=!%&@#~`")
_ANCHORS = {"^": r"\A", "$": r"\z", "b": r"\b"}
_NEVER = r"[^\x{0}-\x{10ffff}]"
_ANY = r"(?s:.)"
_MANDATORY, _EDGE = "mandatory", "edge"
_HALVES = (
    "`.` or a negated class that counts characters: JavaScript counts one beyond U+FFFF twice. Write .* or .+ between "
    "other characters, or a class"
)


def translate_regex(source: str) -> str:
    """Return an RE2 pattern that finds a match in the same texts as JavaScript's `new RegExp(source)`.

    Raises `NotTranslatable` if there is none, or if RE2 or the limits of patterns refuse it.
    """
    pattern = _Writer(RegexParser(source).parse()).write()
    try:
        check_pattern(pattern)
    except InvalidPattern as error:
        raise NotTranslatable("regex", f"the regular expression is refused: {error}") from None
    return pattern


def is_wide(node: CodeUnit) -> bool:
    """Return True if the atom matches the halves of characters beyond U+FFFF.

    Raises `NotTranslatable` if it matches only some of the halves.
    """
    covered = [(first, last) for first, last in node.ranges if first <= _SURROGATES[1] and last >= _SURROGATES[0]]
    if covered and not (covered[0][0] <= _SURROGATES[0] and covered[0][1] >= _SURROGATES[1]):
        raise make_pattern_error("halves of characters beyond U+FFFF")
    return bool(covered)


class _Writer:
    """Writer of one pattern."""

    def __init__(self, pattern: Alternatives) -> None:
        self._pattern = pattern
        self._one_needed = _count_wide(pattern, least=1) == 1 and not _has_repeated_wide_group(pattern)

    def write(self) -> str:
        return "|".join(self._sequence(branch, is_top=True) for branch in self._pattern.branches)

    def _sequence(self, nodes: Sequence[Node], *, is_top: bool) -> str:
        return "".join(self._node(nodes, index, is_top) for index in range(len(nodes)))

    def _node(self, nodes: Sequence[Node], index: int, is_top: bool) -> str:
        node = nodes[index]
        if isinstance(node, Anchor):
            if node.sign == "B":
                raise make_pattern_error(r"\B, which RE2 also finds within a character")
            return _ANCHORS[node.sign]
        if isinstance(node, AstralCharacter):
            return node.character
        if isinstance(node, Alternatives):
            inner = "|".join(self._sequence(branch, is_top=False) for branch in node.branches)
            return f"(?:{inner}){_write_repeat(node.repeat)}"
        if not is_wide(node):
            return _write_class(node.ranges, beyond=False) + _write_repeat(node.repeat)
        before = _find_end(reversed(nodes[:index]), is_top=is_top)
        after = _find_end(nodes[index + 1 :], is_top=is_top)
        beyond = self._matches_beyond(node.repeat, before, after)
        return _write_class(node.ranges, beyond=beyond) + _write_repeat(node.repeat)

    def _matches_beyond(self, repeat: Repeat, before: str, after: str) -> bool:
        """Return True if a wide atom may match characters beyond U+FFFF.

        `before`, `after`: results of `_find_end`. Raises `NotTranslatable` if JavaScript counts halves.
        """
        if repeat == Repeat(0, None):
            return True
        if repeat == Repeat(1, None) and (self._one_needed or (before and after)):
            return True
        if repeat == ONCE and before and after:
            return _EDGE in {before, after}
        raise make_pattern_error(_HALVES)


def _find_end(neighbours: Iterable[Node], *, is_top: bool) -> str:
    """Return what bounds a wide atom on one side, given its neighbours from the nearest on.

    `mandatory`: a narrow atom or an anchor. `edge`: the end of the whole pattern. Empty: unknown, or another wide atom.
    """
    for node in neighbours:
        if isinstance(node, Anchor | AstralCharacter):
            return _MANDATORY
        if _count_wide(node) or _has_anchor(node):
            return ""
        if not _is_optional(node):
            return _MANDATORY
    return _EDGE if is_top else ""


def _is_optional(node: Node) -> bool:
    if isinstance(node, CodeUnit):
        return node.repeat.least == 0
    if isinstance(node, Alternatives):
        return node.repeat.least == 0 or any(all(map(_is_optional, branch)) for branch in node.branches)
    return isinstance(node, Anchor)


def _has_anchor(node: Node) -> bool:
    if isinstance(node, Alternatives):
        return any(_has_anchor(each) for branch in node.branches for each in branch)
    return isinstance(node, Anchor)


def _count_wide(node: Node, least: int = 0) -> int:
    """Count the wide atoms of a node that occur at least `least` times."""
    if isinstance(node, Alternatives):
        return sum(_count_wide(each, least) for branch in node.branches for each in branch)
    return int(isinstance(node, CodeUnit) and is_wide(node) and node.repeat.least >= least)


def _has_repeated_wide_group(node: Node) -> bool:
    if not isinstance(node, Alternatives):
        return False
    if node.repeat not in {ONCE, Repeat(0, 1)} and _count_wide(node, least=1):
        return True
    return any(_has_repeated_wide_group(each) for branch in node.branches for each in branch)


def _write_repeat(repeat: Repeat) -> str:
    simple = {ONCE: "", Repeat(0, None): "*", Repeat(1, None): "+", Repeat(0, 1): "?"}
    if repeat in simple:
        return simple[repeat]
    if repeat.least == repeat.most:
        return f"{{{repeat.least}}}"
    return f"{{{repeat.least},{'' if repeat.most is None else repeat.most}}}"


def _write_class(ranges: Ranges, *, beyond: bool) -> str:
    """Return a class of RE2; with `beyond` it also has all characters beyond U+FFFF."""
    if beyond:
        others = _write_ranges(invert_ranges(ranges))
        return f"[^{others}]" if others else _ANY
    parts = _write_ranges(ranges)
    is_single = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    return parts if parts and is_single else f"[{parts}]" if parts else _NEVER


def _write_ranges(ranges: Ranges) -> str:
    """Return the ranges without the surrogates, which no text of code points has."""
    parts = []
    for first, last in ranges:
        for low, high in ((first, min(last, _SURROGATES[0] - 1)), (max(first, _SURROGATES[1] + 1), last)):
            if low <= high:
                parts.append(_write_unit(low) if low == high else f"{_write_unit(low)}-{_write_unit(high)}")
    return "".join(parts)


def _write_unit(unit: int) -> str:
    character = chr(unit)
    if character.isascii() and character.isprintable():
        return character if character.isalnum() or character in _PLAIN else f"\\{character}"
    return f"\\x{{{unit:x}}}"

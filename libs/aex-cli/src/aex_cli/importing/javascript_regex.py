"""Parser of JavaScript regular expressions without flags, as `new RegExp(text)` reads them.

What RE2 cannot express, and what is easily misread, raises `NotTranslatable`. The module `regex_writer` writes the
result for RE2.
"""

import re
from dataclasses import replace

from aex_cli.importing.regex_nodes import (
    MAX_UNIT,
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
    make_unit_range,
    merge_ranges,
)

_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_BLANKS: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
_DIGITS: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_CLASSES = {"d": _DIGITS, "s": _BLANKS, "w": _WORD}
_COUNTED = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_MAX_LENGTH, _MAX_DEPTH = 10_000, 50


class RegexParser:
    """Parser of one pattern; `parse` may be called once."""

    def __init__(self, source: str) -> None:
        if len(source) > _MAX_LENGTH:
            raise make_pattern_error(f"more than {_MAX_LENGTH} characters")
        self._source = source
        self._at = 0

    def parse(self) -> Alternatives:
        """Return the parsed pattern. Raises `NotTranslatable`."""
        found = self._alternatives(0)
        if self._at < len(self._source):
            raise make_pattern_error("a ) without (")
        return found

    def _peek(self, length: int = 1) -> str:
        return self._source[self._at : self._at + length]

    def _take(self, length: int = 1) -> str:
        taken = self._peek(length)
        if len(taken) < length:
            raise make_pattern_error("no end: it is cut off")
        self._at += length
        return taken

    def _alternatives(self, depth: int) -> Alternatives:
        if depth > _MAX_DEPTH:
            raise make_pattern_error(f"groups nested more than {_MAX_DEPTH} deep")
        branches = [self._sequence(depth)]
        while self._peek() == "|":
            self._take()
            branches.append(self._sequence(depth))
        return Alternatives(tuple(branches))

    def _sequence(self, depth: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while self._peek() not in {"", "|", ")"}:
            node = self._repeated(self._atom(depth))
            if isinstance(node, Alternatives) and node.repeat == ONCE and len(node.branches) == 1:
                nodes += node.branches[0]  # captures do not matter: the group is the sequence itself
            else:
                nodes.append(node)
        return tuple(nodes)

    def _repeated(self, atom: Node) -> Node:
        repeat = self._repeat()
        if repeat is None:
            return atom
        if isinstance(atom, Anchor):
            raise make_pattern_error("a repeated anchor")
        if isinstance(atom, AstralCharacter):
            raise make_pattern_error(
                "a repeated character beyond U+FFFF, of which JavaScript repeats the second half alone"
            )
        if self._peek() == "?":
            self._take()
        if self._repeat() is not None:
            raise make_pattern_error("nothing to repeat")
        return replace(atom, repeat=repeat)

    def _repeat(self) -> Repeat | None:
        sign = self._peek()
        if sign in {"*", "+", "?"} and sign:
            self._take()
            return {"*": Repeat(0, None), "+": Repeat(1, None), "?": Repeat(0, 1)}[sign]
        counted = _COUNTED.match(self._source, self._at)
        if counted is None:
            return None
        self._at = counted.end()
        least = int(counted[1])
        most = least if counted[2] is None else int(counted[3]) if counted[3] else None
        if most is not None and most < least:
            raise make_pattern_error("a repetition out of order")
        return Repeat(least, most)

    def _atom(self, depth: int) -> Node:
        if _COUNTED.match(self._source, self._at):
            raise make_pattern_error("nothing to repeat")
        character = self._take()
        if character in {"*", "+", "?"}:
            raise make_pattern_error("nothing to repeat")
        if character in {"^", "$"}:
            return Anchor(character)
        if character == ".":
            return CodeUnit(invert_ranges(_LINE_ENDS))
        if character == "(":
            return self._group(depth)
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        return AstralCharacter(character) if ord(character) > MAX_UNIT else CodeUnit(make_unit_range(ord(character)))

    def _group(self, depth: int) -> Alternatives:
        if self._peek() == "?":
            self._take()
            if named := re.compile(r"<([A-Za-z_$][A-Za-z0-9_$]*)>").match(self._source, self._at):
                self._at = named.end()
            elif self._take() != ":":
                raise make_pattern_error("lookaround or flags within the pattern, which RE2 cannot express")
        found = self._alternatives(depth + 1)
        if self._peek() != ")":
            raise make_pattern_error("a ( without )")
        self._take()
        return found

    def _escape(self) -> Node:
        sign = self._take()
        if sign in {"b", "B"}:
            return Anchor(sign)
        return CodeUnit(self._escaped(sign))

    def _escaped(self, sign: str) -> Ranges:
        """Return the code units of an escape, inside or outside a class; `sign` follows the backslash."""
        if sign.lower() in _CLASSES:
            ranges = _CLASSES[sign.lower()]
            return ranges if sign.islower() else invert_ranges(ranges)
        if sign in _CONTROLS:
            return make_unit_range(_CONTROLS[sign])
        if sign == "0" and not self._peek().isdigit():
            return make_unit_range(0)
        if sign in {"x", "u"}:
            digits = self._peek(2 if sign == "x" else 4)
            if re.fullmatch(r"[0-9A-Fa-f]{2}|[0-9A-Fa-f]{4}", digits) and len(digits) == (2 if sign == "x" else 4):
                self._at += len(digits)
                return make_unit_range(int(digits, 16))
        if sign.isdigit() or sign == "k":
            raise make_pattern_error("a back-reference or an octal number")
        if sign.isascii() and sign.isalpha():
            raise make_pattern_error(f"the escape \\{sign}, which JavaScript reads without flags as letters")
        if ord(sign) > MAX_UNIT:
            raise make_pattern_error("an escaped character beyond U+FFFF")
        return make_unit_range(ord(sign))

    def _class(self) -> CodeUnit:
        negated = self._peek() == "^"
        if negated:
            self._take()
        ranges: list[tuple[int, int]] = []
        while self._peek() != "]":
            first = self._class_atom()
            if self._peek() == "-" and self._peek(2) != "-]":
                self._take()
                last = self._class_atom()
                if any(len(each) != 1 or each[0][0] != each[0][1] for each in (first, last)):
                    raise make_pattern_error("a range of classes")
                if first[0][0] > last[0][0]:
                    raise make_pattern_error("a range out of order")
                ranges.append((first[0][0], last[0][0]))
            else:
                ranges += first
        self._take()
        merged = merge_ranges(ranges)
        return CodeUnit(invert_ranges(merged) if negated else merged)

    def _class_atom(self) -> Ranges:
        character = self._take()
        if character == "\\":
            sign = self._take()
            return make_unit_range(8) if sign == "b" else self._escaped(sign)
        if ord(character) > MAX_UNIT:
            raise make_pattern_error("a character beyond U+FFFF in a class, of which JavaScript reads the halves")
        return make_unit_range(ord(character))

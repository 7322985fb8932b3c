"""Characters that a reader does not see. Pure."""

import unicodedata

_PLAIN = frozenset("\n\t ")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_HIDDEN_OTHERS = (
    *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF)),
)
"""Letters, marks and symbols that are drawn as nothing (Unicode's Default_Ignorable_Code_Point, and blank Braille)."""


def is_hidden(character: str) -> bool:
    """Whether a reader cannot see the character, or sees others elsewhere because of it."""
    if character in _PLAIN:
        return False
    code = ord(character)
    if unicodedata.category(character) in _HIDDEN_CATEGORIES:
        return True
    return any(first <= code <= last for first, last in _HIDDEN_OTHERS)

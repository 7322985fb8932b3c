"""Hidden characters: honest where a script needs them, found elsewhere."""

from collections.abc import Mapping

import pytest

from aex_governance.rules.injection.hidden_characters import find_hidden_characters

LIMITS = {"min_zero_width": 1, "min_stray_selectors": 1, "min_private_run": 2}
HEBREW = "\u05e9\u05dc\u05d5\u05dd"
EMBEDDED, POPPED, ISOLATED, ENDED = "\u202b", "\u202c", "\u2067", "\u2069"


def kinds(text: str, limits: Mapping[str, int] = LIMITS) -> list[str]:
    return [kind for kind, _, _ in find_hidden_characters(text, limits)]


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        f"The word {HEBREW} means peace.",
        f"The word {EMBEDDED}{HEBREW}{POPPED} means peace.",
        f"The word {ISOLATED}{HEBREW}{ENDED} means peace.",
        f"Both: {ISOLATED}{HEBREW} {EMBEDDED}{HEBREW}{POPPED}{ENDED}.",
    ],
)
def test_balanced_controls_around_right_to_left_text_are_honest(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        (f"The word {EMBEDDED}{HEBREW} means peace.", EMBEDDED),
        (f"The word {ISOLATED}{HEBREW} means peace.", ISOLATED),
        (f"The word {HEBREW}{POPPED} means peace.", POPPED),
        (f"The word {HEBREW}{ENDED} means peace.", ENDED),
    ],
    ids=["an embedding left open", "an isolate left open", "closed without an embedding", "closed without an isolate"],
)
def test_unbalanced_control_is_found_at_its_position(text: str, sign: str) -> None:
    position = text.index(sign)
    assert list(find_hidden_characters(text, LIMITS)) == [("bidi_control", position, position + 1)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"The word {ISOLATED}{HEBREW}{POPPED} means peace.", ["bidi_control"] * 2),  # an isolate has its own end
        (f"pay {ISOLATED}100{ENDED} now", ["bidi_control"] * 2),
        (f"The word \u202e{HEBREW}{POPPED} means peace.", ["bidi_override"]),
        ("\ue000 first item", []),
        ("\ue000\ue001 first item", ["private_use"]),
    ],
)
def test_controls_and_private_signs_are_counted(text: str, found: list[str]) -> None:
    assert kinds(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "👨\u200d👩\u200d👧 ❤\ufe0f 👍🏽 1\ufe0f⃣ 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "می\u200cتوانید دستور را بخوانید",
        "क्\u200dष और त्\u200cर",
        "Auf\u200clage, Donau\u00addampfschiff",
        "\ufeffHello",
        "f\u2061(x) = 2\u2062x",
        "ภาษา\u200bไทย",
    ],
)
def test_characters_that_a_script_needs_are_honest(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("co\u200brrect", "zero_width"),
        ("x\u200b\u200c\u200b\u200c\u200d y", "invisible_run"),
        ("Fine\U000e0069\U000e0067\U000e006e", "tag_characters"),
        ("a\ufe00\ufe01\ufe02 smuggled", "variation_selectors"),
    ],
)
def test_hidden_writing_is_found(text: str, kind: str) -> None:
    assert kind in kinds(text)

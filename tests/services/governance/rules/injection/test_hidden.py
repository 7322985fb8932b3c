"""Directional signs: honest where right-to-left text is embedded and closed again, hidden anywhere else."""

import pytest

from aex_governance.rules.injection.hidden import Limits, hidden_characters

LIMITS = Limits(zero_width=1, selectors=1, private_run=2)
HEBREW = "\u05e9\u05dc\u05d5\u05dd"
EMBEDDED, POPPED, ISOLATED, ENDED = "\u202b", "\u202c", "\u2067", "\u2069"


def kinds(text: str, limits: Limits = LIMITS) -> list[str]:
    return [kind for kind, _, _ in hidden_characters(text, limits)]


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
def test_what_is_opened_and_closed_around_right_to_left_text_is_honest(text: str) -> None:
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
def test_what_is_left_open_or_closed_for_nothing_is_found_where_it_stands(text: str, sign: str) -> None:
    place = text.index(sign)
    assert list(hidden_characters(text, LIMITS)) == [("bidi_control", place, place + 1)]


def test_an_isolate_is_not_closed_by_the_end_of_an_embedding() -> None:
    assert kinds(f"The word {ISOLATED}{HEBREW}{POPPED} means peace.") == ["bidi_control", "bidi_control"]


def test_without_right_to_left_text_every_such_sign_is_found() -> None:
    assert kinds(f"pay {ISOLATED}100{ENDED} now") == ["bidi_control", "bidi_control"]


def test_an_override_is_found_with_its_letters_and_its_end_is_no_second_finding() -> None:
    assert kinds(f"The word \u202e{HEBREW}{POPPED} means peace.") == ["bidi_override"]


@pytest.mark.parametrize(("run", "found"), [("\ue000", []), ("\ue000\ue001", ["private_use"])])
def test_a_lone_private_sign_is_a_bullet_and_a_run_of_them_is_writing(run: str, found: list[str]) -> None:
    assert kinds(f"{run} first item") == found


def test_as_long_a_private_run_as_an_operator_lets_pass_is_left_alone() -> None:
    text = "\ue000\ue001\ue002 first item"
    assert kinds(text, Limits(zero_width=1, selectors=1, private_run=4)) == []
    assert kinds(text, Limits(zero_width=1, selectors=1, private_run=3)) == ["private_use"]

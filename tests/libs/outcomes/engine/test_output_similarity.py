import itertools
import random
import time
from typing import Any

import pytest

from aex_models.canonical import canonical_bytes
from aex_outcomes.engine.candidate import MAX_EARLIER
from aex_outcomes.engine.job import verify_candidate
from aex_outcomes.engine.output_similarity import MAX_COMPARED, build_comparable_form, output_similarities

TEXT = "The committee approved the budget for public libraries after a long debate."


def facts(output: Any, earlier: dict[str, str], **more: Any) -> dict[str, Any]:
    payload = {"contract_id": "ctr_1", "success_criteria": None, "config": None, "output": output, "earlier": earlier}
    return verify_candidate(payload | more)


def form(output: Any) -> str:
    """As the earlier candidate's facts hold it."""
    found = facts(output, {})
    return str(found["structured_form"] or found["output_text"])


def test_texts_are_compared_as_texts() -> None:
    before = {"text": TEXT, "confidence": 0.5}
    assert form({"text": TEXT}) == TEXT
    found = facts({"text": TEXT.replace("long", "short"), "confidence": 0.7}, {"a": form(before)})
    assert found["similarities"] == {"a": pytest.approx(0.952, abs=1e-3)}  # the form of 104 characters: 5 edits
    found = facts({"text": TEXT.replace("long", "hard")}, {"a": form({"text": TEXT})})
    assert found["similarities"] == {"a": pytest.approx(1 - 4 / len(TEXT), abs=1e-6)}


def test_other_labels_throughout_are_none() -> None:
    before, after = ({"predictions": [word] * 200} for word in ("positive", "neutral mixed"))
    assert facts(after, {"a": form(before)})["similarities"]["a"] < 0.7


def test_a_short_text_that_stays_does_not_make_outputs_similar_with_labels_changed() -> None:
    before, after = ({"text": "Here are my labels.", "predictions": [word] * 200} for word in ("positive", "cat 17"))
    assert facts(after, {"a": form(before)})["similarities"]["a"] < 0.6


def test_neither_the_order_of_keys_nor_white_space_in_json_is_an_edit() -> None:
    assert build_comparable_form({"b": 1.0, "a": [1, 2]}, None) == build_comparable_form({"a": [1, 2], "b": 1}, None)


@pytest.mark.parametrize("label", ["neutral", 'a "quoted" one', "ends in a backslash \\", "", "two\nlines"])
def test_a_form_has_the_beginning_of_what_is_no_word_and_all_else_as_it_is(label: str) -> None:
    junk = {"a": "x" * 41, "b": f"so {'y' * 40} {'z' * 99}", "c": [label, "w" * 50, 1, None]}
    kept = {"a": "x" * 8, "b": f"so {'y' * 40} {'z' * 8}", "c": [label, "w" * 8, 1, None]}
    assert build_comparable_form(junk, None) == build_comparable_form(kept, None)
    assert build_comparable_form(kept, None) == f"\x1e{canonical_bytes(kept).decode()}"


def test_the_latest_twenty_are_compared() -> None:
    earlier = {str(place): f"{TEXT} {place}" for place in range(100)}
    assert [*facts({"text": TEXT}, earlier)["similarities"]] == [str(place) for place in range(80, 100)]
    assert MAX_EARLIER == 20


def test_outputs_that_were_cut_where_they_are_still_equal_nothing_is_reported() -> None:
    long = "x " * MAX_COMPARED
    assert output_similarities(long + "one", {"a": long + "other", "b": "y" + long}) == {
        "b": pytest.approx(1, abs=1e-4)
    }


def test_an_output_without_a_form_is_compared_with_nothing() -> None:
    assert build_comparable_form({"number": 1e999}, None) is None
    assert output_similarities(None, {"a": "b"}) == {}


def test_twenty_long_hostile_outputs_take_no_more_than_a_moment() -> None:
    earlier = {str(place): f"{place} ab" * 30_000 for place in range(20)}
    started = time.process_time()
    assert len(facts({"text": "é中 " * 60_000}, earlier)["similarities"]) == 20
    assert time.process_time() - started < 5  # 0.6 s


LONG = " ".join(f"{TEXT[:-1]}, said member {place}." for place in range(9))
EDITED = LONG.replace("long", "short", 1)
REFERENCE = {"reference": LONG}
LABELS = ["positive", "negative"] * 50


def junk(size: int, blank: str = "") -> str:
    dice = random.Random(f"{size} {next(_COUNT)}")
    return blank.join("".join(dice.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=6)) for _ in range(size // 6))


_COUNT = itertools.count()


@pytest.mark.parametrize(
    "padded",
    [
        lambda text: {"text": text, "scratch": junk(3 * len(text))},
        lambda text: {"text": text, "scratch": junk(3 * len(text), " ")},
        lambda text: {"text": f"{text} {junk(140)}"},
        lambda text: {"text": text, "a": "x y " * 30_000},
        lambda text: {"text": text, "a": "x" * 100_000},
    ],
)
def test_no_junk_makes_a_small_edit_of_a_measured_text_look_like_another_text(padded: Any) -> None:
    before = facts(padded(LONG), {}, evaluation=REFERENCE)
    kept = before["structured_form"] or before["output_text"]
    assert facts(padded(EDITED), {"a": kept}, evaluation=REFERENCE)["similarities"]["a"] > 0.97


@pytest.mark.parametrize("blank", ["", " "])
@pytest.mark.parametrize("size", [3_000, 200_000])
def test_no_junk_beside_labels_makes_one_other_label_look_like_other_labels(blank: str, size: int) -> None:
    truth = {"ground_truth": LABELS}
    before = facts({"predictions": LABELS, "a": junk(size, blank)}, {}, evaluation=truth)["structured_form"]
    after = {"predictions": ["negative", *LABELS[1:]], "a": junk(size, blank)}
    assert facts(after, {"a": before}, evaluation=truth)["similarities"]["a"] > 0.97


def test_padding_that_is_added_makes_no_other_text_and_no_tiny_edit_either() -> None:
    found = facts({"text": f"{EDITED} {junk(140, ' ')}"}, {"a": LONG}, evaluation=REFERENCE)
    assert found["similarities"] == {"a": 0.95}

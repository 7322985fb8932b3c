"""Labels that answers to multiple-choice questions give."""

import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.choices import ChoiceQuestion, normalize_option

OPTIONS = {"A": "Paris", "B": "a dog", "C": "C++", "D": "1.5", "E": "15"}
QUESTION = ChoiceQuestion.from_data("B", OPTIONS)


def read(text: str, question: ChoiceQuestion = QUESTION) -> str:
    return "".join(sorted(question.read_labels(text)))


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("B", "b"),
        ("(b)", "b"),
        (" b.\n", "b"),
        ("**B**", "b"),
        (r"$\boxed{B}$", "b"),
        ("A, C", "ac"),
        ("C and A", "ac"),
        ("A/C; D", "acd"),
        ("[A] [C]", "ac"),
        ("A\nC", "ac"),
        ("A, A", "a"),
        ("a", "a"),
        ("F", "f"),
        ("AC", ""),
        ("", ""),
        ("?", ""),
    ],
)
def test_a_complete_text_of_labels_gives_them(text: str, labels: str) -> None:
    assert read(text) == labels


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("The answer is B.", "b"),
        ("the ANSWER IS (b)", "b"),
        ("**Answer:** B", "b"),
        ("Answer: **B**", "b"),
        ("answer is: B", "b"),
        ("Answers: A, C", "ac"),
        ("Answer:\nB\nbecause of A", "b"),
        ("The answer is option B because A is wrong", "b"),
        ("The answer is B, a common mistake", "b"),
        ("The answer is B, I think", "b"),
        ("The answer is B or C", "bc"),
        ("Answer: B, F", "bf"),
        ("Answer: A. No. Answer: B", "b"),
        ("Answer: B. I hope that this answer is useful", ""),
        ("The answer is a dog", "b"),
        ("The answer is a dog, as ever", ""),
        ("The answer is Paris. It always was", "a"),
        ("Answer: D) 1.5", "d"),
        ("Answer: B. Something else", "b"),
        ("The answer is not B", ""),
        ("The answer is B12", ""),
        ("The answer is C++", "c"),
        ("The answer is C", "c"),
        ("reanswer: B", ""),
    ],
)
def test_what_follows_the_last_answer_gives_labels(text: str, labels: str) -> None:
    assert read(text) == labels


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("paris", "a"),
        ("“The Paris”!", "a"),
        ("A DOG", "b"),
        ("dog", "b"),
        ("B) a dog", "b"),
        ("A: a dog", ""),
        ("c++", "c"),
        ("1.5", "d"),
        ("15.", "e"),
        ("-15", ""),
        ("Pa\uff52is", "a"),
        ("paris or so", ""),
    ],
)
def test_the_text_of_an_option_gives_its_label(text: str, labels: str) -> None:
    assert read(text) == labels


@pytest.mark.parametrize(
    ("correct", "options", "text", "is_correct"),
    [
        ("B", None, "The answer is B.", True),
        ("B", None, "B, C", False),
        ("B", None, "answer: B, C", False),
        (["A", "C"], None, "c and a", True),
        (["A", "C"], None, "A", False),
        ("2", None, "Answer: 2", True),
        ("2", None, "2, 3", False),
        ("true", None, "The answer is True because", True),
        ("true", {"true": "yes, it is", "false": "no"}, "Yes, it is.", True),
        ("a", None, "the answer is a because", True),
        ("not known", {"known": "x", "not known": "y"}, "answer: not known", True),
        ("C++", {"C": "x", "C++": "y"}, "C++", True),
        ("C", {"C": "x", "C++": "y"}, "C++", False),
        ("1", {"1": "15", "2": "2"}, "15", True),
        ("1", {"1": "15", "2": "2"}, "answer: 15.", True),
        ("2", {"1": "2", "2": "15"}, "2", True),
    ],
)
def test_an_answer_is_correct_if_its_labels_are_the_correct_ones(
    correct: str | list[str], options: Mapping[str, str] | None, text: str, is_correct: bool
) -> None:
    assert ChoiceQuestion.from_data(correct, options).is_correct(text) is is_correct


@given(st.sets(st.sampled_from("ABCDE"), min_size=1), st.sampled_from([", ", " and ", "; ", "/", ",\n", " & "]))
def test_any_order_and_case_of_the_labels_counts(labels: set[str], separator: str) -> None:
    question = ChoiceQuestion.from_data(sorted(labels), OPTIONS)
    listed = separator.join(f"({each.lower()})" for each in sorted(labels, reverse=True))
    assert question.is_correct(listed)
    assert question.is_correct(f"So the answer is {listed.upper()}.") or "\n" in separator


@given(st.text(max_size=60))
def test_no_text_fails(text: str) -> None:
    assert QUESTION.read_labels(text) <= {each.casefold() for each in text} | frozenset("abcde")


def test_an_option_of_marks_alone_keeps_them() -> None:
    assert [normalize_option(each) for each in ("?!", "the", "(A)", "an apple")] == ["?!", "the", "a", "apple"]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500_000 + "B" + ")" * 500_000, "answer " * 140_000 + ": B", "answer" + " " * 1_000_000, "A,B," * 250_000,
        "answer is " + "a, " * 330_000, "A" + ";" * 1_000_000, "A" + " and" * 250_000, "answer is x" + ". " * 500_000,
        "answer is " + "\u0301" * 1_000_000, "answer:" + "* " * 500_000, "[(" * 500_000, "A" + " " * 1_000_000 + "x",
    ],
)  # fmt: skip
def test_a_million_hostile_characters_take_linear_time(text: str) -> None:
    started = time.process_time()
    QUESTION.is_correct(text)
    assert time.process_time() - started < 3

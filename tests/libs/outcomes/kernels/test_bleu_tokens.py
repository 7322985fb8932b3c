import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from aex_outcomes.kernels.bleu import tokenize_13a
from tests.libs.outcomes.kernels.texts import prose

ORACLE = Tokenizer13a()  # type: ignore[no-untyped-call]
HARD = ".,-5a &;\n\t<>$'é!\"x/\u0663\u00bd\u2028日"


def assert_equal(text: str) -> None:
    assert tokenize_13a(text) == ORACLE(text.rstrip()).split(), text


@given(st.text(alphabet=HARD, max_size=40) | st.text())
def test_on_any_text(text: str) -> None:
    assert_equal(text)


@pytest.mark.parametrize("around", ["{}", "a{}a", "5{}5", "a{}5", "5{}a", "7 {}\n"])
def test_on_every_row_of_up_to_five_points_commas_dashes_digits_and_letters(around: str) -> None:
    for length in range(6):
        for row in product(".,-5a", repeat=length):
            assert_equal(around.format("".join(row)))


def test_on_every_pair_of_ascii_characters_and_long_texts() -> None:
    for one, other in product(map(chr, range(128)), repeat=2):
        assert_equal(f"3{one}{other}x")
    source, words = random.Random(2), prose(2, 3_000).split()
    numbers = ["3.14", "1,000", "5-", "2019.", ".5", "...5", "5,,5", "$7", "10-20"]
    assert_equal(" ".join(words))
    assert_equal(" ".join(source.choice([each, source.choice(numbers)]) for each in words))

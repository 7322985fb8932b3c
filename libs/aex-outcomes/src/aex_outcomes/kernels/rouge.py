"""ROUGE-N and ROUGE-L f-measures (Lin 2004), equal to the package rouge-score without stemmer.

The tokens are those of rouge-score: the text in lower case, split at everything but a–z and 0–9. Text in other scripts
has no tokens and scores 0. ROUGE-L's time grows with the product of two lengths, and is refused beyond `MAX_STEPS`.

The longest common subsequence is computed in one of two ways. Both are bit-parallel (Hyyrö 2004; Crochemore et al.
2001): one addition updates a row of the table. rapidfuzz uses words of 64 bits, and hash maps for more than 256 tokens.
For long texts of many different words Python's big integers are used instead, which are ten times as fast there.
"""

import re
import string
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from aex_outcomes.kernels.bleu import count_ngrams, ngrams, shared_count_per_reference

_FEW_TOKENS = 256
_LONG = 400_000_000
"""Product of the two lengths above which rapidfuzz's hash maps exceed the processor's cache."""
BLOCK_BITS = 16_384
"""Smallest number of bits of a big integer; the masks of a block then take at most 32 MB."""
_WIDEST = 65_536
_MASK_BITS = 16 << 23
"""Bits of all masks of a block: with few different tokens the integers may be wider, which is faster."""


def lcs_length(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two lists of tokens.

    Tokens are numbered first, because rapidfuzz compares their hashes, which could collide.
    """
    numbers = {token: number for number, token in enumerate(set(left).intersection(right))}
    left_numbers = [numbers[token] for token in left if token in numbers]
    right_numbers = [numbers[token] for token in right if token in numbers]
    if len(numbers) > _FEW_TOKENS and len(left_numbers) * len(right_numbers) > _LONG:
        block_bits = max(BLOCK_BITS, min(_WIDEST, _MASK_BITS // len(numbers)))
        return lcs_length_by_big_integers(left_numbers, right_numbers, block_bits)
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415 tens of milliseconds that only ROUGE-L needs

    return LCSseq.similarity(left_numbers, right_numbers)


def lcs_length_by_big_integers(left: Sequence[int], right: Sequence[int], block_bits: int = BLOCK_BITS) -> int:
    """Return the length of the longest common subsequence, computed with integers of `block_bits` bits.

    `left` is processed in blocks of as many tokens, which pass on one carry bit for each token of `right`.
    """
    carries = bytearray(len(right))
    return sum(_block(left[start : start + block_bits], right, carries) for start in range(0, len(left), block_bits))


def _block(left: Sequence[int], right: Sequence[int], carries: bytearray) -> int:
    """Return the block's share of the length, and replace `carries` by those for the next block."""
    masks = _position_masks(left)
    beyond = 1 << len(left)
    row = beyond - 1
    for position, token in enumerate(right):
        matches = masks.get(token, 0)
        carry = carries[position]
        if not (matches or carry):
            continue
        hit = row & matches
        added = row + hit
        if carry:
            added += 1
        carries[position] = added >= beyond
        row = (added - beyond if added >= beyond else added) | (row ^ hit)
    return len(left) - row.bit_count()


def _position_masks(left: Sequence[int]) -> dict[int, int]:
    """Return for each token an integer whose bits are set at the token's positions."""
    positions: dict[int, list[int]] = {}
    for position, token in enumerate(left):
        positions.setdefault(token, []).append(position)
    masks = {}
    for token, indexes in positions.items():
        bits = bytearray((len(left) + 7) // 8)
        for position in indexes:
            bits[position >> 3] |= 1 << (position & 7)
        masks[token] = int.from_bytes(bits, "little")
    return masks


_OF_TOKENS = f"{string.ascii_lowercase}{string.digits}".encode()
_BLANKED = bytes(each if each in _OF_TOKENS else ord(" ") for each in range(256))
"""Table for `bytes.translate` that replaces every separator of tokens by a blank."""
MAX_STEPS = 60_000_000_000
"""Maximum for ROUGE-L of the candidate's tokens times (all references' tokens, and 1,000 for each reference)."""
MAX_REFERENCE_TOKENS = 200_000
"""Maximum tokens of all references together; a candidate half as long again is never refused."""
_STEPS_OF_A_REFERENCE = 1_000
"""Cost of searching a candidate for one reference's tokens, in steps for each token of the candidate."""
_TYPE = re.compile(r"rouge([1-9]|L)")


class TooManySteps(ValueError):
    """Error for a candidate that is too long to compute a metric with these references."""


def is_rouge_type(name: str) -> bool:
    """Return True for rouge1 to rouge9 and rougeL."""
    return _TYPE.fullmatch(name) is not None


def tokenize_for_rouge(text: str) -> list[str]:
    """Return the words of a–z and 0–9 in lower case, as rouge-score's default tokenizer does."""
    in_ascii = text.lower().encode("ascii", "replace")  # question marks replace the rest and separate as well
    return in_ascii.translate(_BLANKED).decode("ascii").split()


@dataclass(frozen=True, slots=True)
class RougeReference:
    """Reference text, tokenised and counted once for all candidates."""

    tokens: Sequence[str]
    counts: Mapping[int, Mapping[Hashable, int]]
    """Count of each n-gram, by n; only for the n of the requested types."""

    @classmethod
    def from_text(cls, text: str, types: Sequence[str]) -> "RougeReference":
        """Tokenise a text, and count its n-grams for the ROUGE types, such as `rouge2` or `rougeL`."""
        tokens = tokenize_for_rouge(text)
        orders = {int(each[5:]) for each in types if each != "rougeL"}
        return cls(tokens, {order: Counter(ngrams(tokens, order)) for order in orders})


def rouge(
    candidate: str, references: Sequence[RougeReference], types: Sequence[str], *, truncate: bool = False
) -> dict[str, float]:
    """Return the f-measure of a candidate's text and its best reference by ROUGE type, from 0 to 1.

    The figures equal `rouge_score.RougeScorer(types).score_multi(references, candidate)`. If the types include `rougeL`
    and the candidate is too long for it, raises `TooManySteps`. With `truncate` the candidate's first tokens are used
    instead, for all types.
    """
    tokens = tokenize_for_rouge(candidate)
    limit = MAX_STEPS // sum(len(reference.tokens) + _STEPS_OF_A_REFERENCE for reference in references)
    if len(tokens) > limit and "rougeL" in types:
        if not truncate:
            raise TooManySteps("the text has too many words for ROUGE-L against the references")
        tokens = tokens[:limit]
    return {each: max(_scores(tokens, references, each)) for each in types}


def _scores(candidate: Sequence[str], references: Sequence[RougeReference], rouge_type: str) -> list[float]:
    if rouge_type == "rougeL":
        order, shared = 1, [lcs_length(each.tokens, candidate) for each in references]
    else:
        order = int(rouge_type[5:])
        shared = shared_count_per_reference([each.counts[order] for each in references], ngrams(candidate, order))
    length = count_ngrams(candidate, order)
    lengths = [count_ngrams(each.tokens, order) for each in references]
    return [_f_measure(count, length, each) for count, each in zip(shared, lengths, strict=True)]


def _f_measure(shared: int, candidate: int, reference: int) -> float:
    if not shared:
        return 0.0
    precision, recall = shared / candidate, shared / reference
    return 2 * precision * recall / (precision + recall)

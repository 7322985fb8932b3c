"""The length of the longest common subsequence of two lists of tokens.

Both ways here are bit-parallel (Hyyrö 2004; Crochemore et al. 2001): a row of the table of dynamic programming is a
row of bits, updated by one addition. rapidfuzz does it in words of 64 bits, with a table for the first 256 tokens and
a hash map in each word for all others: on long texts of many words that takes ten times as long as Python's own big
integers, which take over there.
"""

from collections.abc import Sequence

_FEW_TOKENS = 256
_LONG = 400_000_000
"""Product of the two lengths above which rapidfuzz's hash maps no longer fit into the processor's cache."""
BLOCK_BITS = 16_384
"""Least width of a big integer: the masks of a block take 32 MB at most."""
_WIDEST = 65_536
_MASK_BITS = 16 << 23
"""Bits of all masks of a block: with few tokens, wider integers fit in, which are quicker."""


def longest_common_subsequence(left: Sequence[str], right: Sequence[str]) -> int:
    """Its length. Tokens that only one side has cannot be part of it, and are dropped first.

    rapidfuzz compares hashes: tokens become small numbers first, so that no two can collide.
    """
    numbers = {token: number for number, token in enumerate(set(left).intersection(right))}
    ours = [numbers[token] for token in left if token in numbers]
    theirs = [numbers[token] for token in right if token in numbers]
    if len(numbers) > _FEW_TOKENS and len(ours) * len(theirs) > _LONG:
        return by_big_integers(ours, theirs, max(BLOCK_BITS, min(_WIDEST, _MASK_BITS // len(numbers))))
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415 tens of milliseconds that only ROUGE-L needs

    return LCSseq.similarity(ours, theirs)


def by_big_integers(left: Sequence[int], right: Sequence[int], block_bits: int = BLOCK_BITS) -> int:
    """The same, block by block of `left`: from block to block goes one carry bit for each token of `right`."""
    carries = bytearray(len(right))
    return sum(_block(left[start : start + block_bits], right, carries) for start in range(0, len(left), block_bits))


def _block(left: Sequence[int], right: Sequence[int], carries: bytearray) -> int:
    """How many bits of the block's row end as 0: what it adds to the length. Writes the carries of the next block."""
    masks = _masks(left)
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


def _masks(left: Sequence[int]) -> dict[int, int]:
    """Token → the bits of its positions."""
    positions: dict[int, list[int]] = {}
    for position, token in enumerate(left):
        positions.setdefault(token, []).append(position)
    return {token: _with_bits(places, len(left)) for token, places in positions.items()}


def _with_bits(places: Sequence[int], width: int) -> int:
    bits = bytearray((width + 7) // 8)
    for place in places:
        bits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(bits, "little")

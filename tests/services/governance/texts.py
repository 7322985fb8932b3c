"""Prose, its edited copies, and hashes of texts."""

import time
from collections.abc import Callable
from hashlib import sha256

PROSE = (
    "The quarterly results were better than expected because the new sales team in Berlin closed three contracts. "
    "Costs rose slightly, mostly due to travel. We recommend keeping the current plan, hiring two more engineers, and "
    "reviewing the budget again in March, when the figures from the Asian offices are in hand. No one should read more "
    "into a single good quarter than it can carry, and the board knows this as well as we do."
)
OTHER = (
    "The quarterly results were disappointing: the sales team in Berlin lost two of its oldest customers. Costs fell, "
    "since no one travelled, but margins fell faster. We recommend a hiring freeze until the reasons are understood, a "
    "smaller budget for next year, and a visit to every remaining customer before the spring. One bad quarter proves "
    "little, but three of them in a row are a pattern that the board has to explain to the owners."
)
CHINESE = (
    "人工智能正在改变我们的生活方式。越来越多的企业开始使用机器学习技术来分析客户数据，从而提供更好的服务。"
    "然而，这也带来了隐私和安全方面的担忧，需要政府和社会共同努力来解决。只有制定明确的规则，人们才会信任这些新技术。"
)


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def edited(text: str, every: int = 12) -> str:
    words = text.split()
    return " ".join("elsewhere" if index % every == every // 2 else word for index, word in enumerate(words))


def is_linear(read: Callable[[str], object], unit: str, size: int) -> bool:
    """Return whether a text takes less than 30 times the time of its eighth; a square takes 64 times.

    Processor time counts, of the quickest of some runs: a busy machine slows single runs down.
    """
    short, long = list[float](), list[float]()
    for _ in range(5):
        for part, spent in ((size // 8, short), (size, long)):
            text = (unit * part)[:part]
            began = time.thread_time()
            read(text)
            spent.append(time.thread_time() - began)
        if min(long) < 30 * min(short) + 0.01:
            return True
    return False

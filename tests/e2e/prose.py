"""Texts of some length, a different one for each key: what two tests deliver is no copy of each other."""

import random

_NOUNS = (
    "library harbour council teacher engine orchard window journal valley bridge market physician painter railway "
    "garden factory captain mountain letter museum village merchant factor harvest storm theatre barrel lantern "
    "farmer ministry archive canal cottage meadow pilot ceiling hospital carpenter quarry island tailor festival"
)
_VERBS = (
    "repaired described visited bought painted measured defended forgot admired photographed crossed inherited "
    "inspected restored mentioned ignored lifted surrounded counted borrowed praised abandoned decorated explained"
)
_ADJECTIVES = (
    "narrow quiet old distant crowded wooden generous northern curious empty famous modest golden stubborn early "
    "foreign careful bright ancient hollow patient winding rusty cheerful silent fragile"
)
_FRAMES = (
    "In the {a} years after the {n}, a {b} {m} {v} the {o}, although no reader had requested it.",
    "The {n} near the {b} {m} {v} a {a} {o} before the winter came.",
    "What the {a} {n} had {v} was neither the {m} nor any {b} {o}.",
    "Some people say that every {n} once {v} its own {a} {o}, and that this {b} {m} was no exception.",
    "A {b} {n} and a {a} {m} stood beside the {o} that a gardener had {v} long ago.",
)


def prose(key: str, sentences: int = 8) -> str:
    """Sentences that the key alone decides: about 15 words each."""
    dice = random.Random(key)
    return " ".join(_sentence(dice) for _ in range(sentences))


def _sentence(dice: random.Random) -> str:
    n, m, o = dice.sample(_NOUNS.split(), 3)
    a, b = dice.sample(_ADJECTIVES.split(), 2)
    return dice.choice(_FRAMES).format(n=n, m=m, o=o, a=a, b=b, v=dice.choice(_VERBS.split()))


def reworded(text: str, key: str, share: float) -> str:
    """The text with this share of its words replaced by others of its kind."""
    dice = random.Random(key)
    words = text.split()
    for location in dice.sample(range(len(words)), round(share * len(words))):
        words[location] = dice.choice(_NOUNS.split())
    return " ".join(words)

"""Random and adversarial texts: what tokenizers get wrong is in the word list."""

import random

_WORDS = """
the a cat, dog. runs 3.14 1,000 -5 5- 10-20 a-b don't &quot; &amp; &lt;x&gt; <skipped> hello! (x) [y] {z} a/b x@y
... .. , ., .5 5. 5., ,5 İ ß 日本 語。 é - $5 50% ~ ` ' ½ ² A1b2 x.y.z 1.2.3 --- a.b, +1 #tag "q" naïve ÀÉ Ǆ ﬁ ０１
١٢ 😀 _x_ x_1 & &&amp;amp;
"""
_UNUSUAL = ["\n", "-\n", "\r\n", "\t", "\u3000", "\x1c", "\x85", " ", "  ", "\u00ad", "\u200b", "a\u0301", "\u212a"]
PIECES = [*_WORDS.split(), *_UNUSUAL]
CHARACTERS = ".,-5a &;\n\t<>$'é日!\"x"


def text(source: random.Random, pieces: list[str], longest: int) -> str:
    kind = source.random()
    if kind < 0.2:
        return "".join(source.choice(CHARACTERS) for _ in range(source.randrange(30)))
    if kind < 0.25:
        return source.choice(pieces) * source.randrange(1, longest)
    count = source.choice([0, 1, 1, 2, 3, 5, 8, longest // 2, longest])
    return source.choice([" ", " ", ""]).join(source.choice(pieces) for _ in range(count))


def pairs(seed: int, count: int, longest: int = 24) -> list[tuple[str, list[str]]]:
    source = random.Random(seed)
    made = []
    for _ in range(count):
        pieces = source.sample(PIECES, source.randint(1, len(PIECES)))
        references = [text(source, pieces, longest) for _ in range(source.choice([1, 1, 1, 2, 3]))]
        copied = source.random() < 0.1
        made.append((source.choice(references) if copied else text(source, pieces, longest), references))
    return made


def prose(seed: int, words: int) -> str:
    source = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    vocabulary = ["".join(source.choices(letters, k=source.randint(2, 9))) for _ in range(400)]
    return " ".join(source.choice(vocabulary) + source.choice([""] * 8 + [",", "."]) for _ in range(words))

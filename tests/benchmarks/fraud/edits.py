"""What is done to somebody else's text so that it is not quite the same. All of it is told from the dice alone."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from random import Random

from tests.benchmarks.fraud.language import Writer

Edit = Callable[[str, Writer, Random], str]
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:[\u0300-\u036f\u0900-\u0963\u200c\u200d]+[^\W_]*)*")
_SENTENCE = re.compile(r"(?<=[.!?।])\s+|(?<=[。！？])\s*|\n+")
_LOOKALIKES = str.maketrans("aceopxyABCEHKMOPTXасеорхуАВСЕНКМОРТХ", "асеорхуАВСЕНКМОРТХaceopxyABCEHKMOPTX")


def replace_words(text: str, writer: Writer, random: Random, share: float = 0.0) -> str:
    """3 to 10 % of the words, or `share` of them, give way to others of the language."""
    share = share or random.uniform(0.03, 0.10)
    spare = [word for kind in ("verbs", "adjectives") for word in writer.bank.words[kind] if " " not in word]
    places = list(re.finditer(r"\w\w", text) if not writer.bank.blank else _WORD.finditer(text))
    chosen = random.sample(places, max(1, int(share * len(places))))
    for place in sorted(chosen, key=lambda found: -found.start()):
        word = random.choice(spare)
        word = word[: place.end() - place.start()] if not writer.bank.blank else word
        text = text[: place.start()] + word + text[place.end() :]
    return text


def drop_words(text: str, writer: Writer, random: Random) -> str:
    """3 to 8 % of the words are left out."""
    size = r"\w\w" if not writer.bank.blank else r"\S+ "
    places = list(re.finditer(size, text))
    for place in sorted(random.sample(places, max(1, len(places) * random.randint(3, 8) // 100)), key=_backwards):
        text = text[: place.start()] + text[place.end() :]
    return text


def swap_sentences(text: str, writer: Writer, random: Random) -> str:
    """The sentences in another order."""
    sentences = _sentences(text)
    random.shuffle(sentences)
    return writer.bank.blank.join(sentences)


def recase(text: str, writer: Writer, random: Random) -> str:
    """All in capitals, all small, or each word with a capital; scripts without cases lose their punctuation."""
    changed = random.choice([str.upper, str.lower, str.title])(text)
    return changed if changed != text else repunctuate(text, writer, random)


def repunctuate(text: str, writer: Writer, random: Random) -> str:
    """Full stops and commas become others, or none at all."""
    del writer
    stop = random.choice([" ;", "...", " —", "!!", ""])
    return re.sub(r"[.!?,،;।]+(?=\s|$)|[。！？，]", stop + " ", text)


def homoglyphs(text: str, writer: Writer, random: Random) -> str:
    """Latin letters become Cyrillic ones that look the same, and the other way round; else full-width figures."""
    share = random.uniform(0.2, 1.0)
    changed = "".join(each.translate(_LOOKALIKES) if random.random() < share else each for each in text)
    return changed if changed != text else zero_width(text, writer, random)


def zero_width(text: str, writer: Writer, random: Random) -> str:
    """Invisible characters between letters."""
    del writer
    unseen, share = random.choice("\u200b\u2060\u00ad\ufeff"), random.uniform(0.05, 0.4)
    return "".join(each + unseen if each.isalpha() and random.random() < share else each for each in text)


def recompose(text: str, writer: Writer, random: Random) -> str:
    """The same letters in another normal form, with other blanks."""
    del writer
    blank = random.choice(["\u00a0", "  ", "\n", "\u2009"])
    return unicodedata.normalize(random.choice(["NFD", "NFKD"]), text).replace(" ", blank)


def add_paragraph(text: str, writer: Writer, random: Random) -> str:
    """Up to a fifth more, of one's own, in front or behind."""
    own = writer.joined(writer.sentences(max(1, round(len(_sentences(text)) * random.uniform(0.08, 0.2)))))
    return f"{own}\n\n{text}" if random.random() < 0.5 else f"{text}\n\n{own}"


def cut_paragraph(text: str, writer: Writer, random: Random) -> str:
    """Up to a fifth less, at the beginning, at the end or inside."""
    sentences = _sentences(text)
    size = max(1, int(len(sentences) * random.uniform(0.08, 0.2)))
    start = random.choice([0, len(sentences) - size, random.randint(0, len(sentences) - size)])
    return writer.bank.blank.join(sentences[:start] + sentences[start + size :])


def mark_up(text: str, writer: Writer, random: Random) -> str:
    """The same in Markdown or HTML: headings, bullets, emphasis."""
    sentences = _sentences(text)
    match random.randrange(3):
        case 0:
            return f"# {writer.name()}\n\n" + "\n".join(f"- {each}" for each in sentences)
        case 1:
            return "".join(f"<p>{each}</p>\n" for each in sentences)
        case _:
            return "\n\n".join(f"**{number}.** {each}" for number, each in enumerate(sentences, 1))


def several(text: str, writer: Writer, random: Random) -> str:
    """A few words, another order, and two more changes of how it looks."""
    text = replace_words(text, writer, random, random.uniform(0.02, 0.05))
    text = swap_sentences(text, writer, random)
    for edit in random.sample([recase, repunctuate, recompose], 2):
        text = edit(text, writer, random)
    return text


EDITS: Sequence[Edit] = (
    replace_words,
    drop_words,
    swap_sentences,
    recase,
    repunctuate,
    homoglyphs,
    zero_width,
    recompose,
    add_paragraph,
    cut_paragraph,
    mark_up,
    several,
)


def _sentences(text: str) -> list[str]:
    return [each for each in _SENTENCE.split(text) if each.strip()]


def _backwards(found: re.Match[str]) -> int:
    return -found.start()

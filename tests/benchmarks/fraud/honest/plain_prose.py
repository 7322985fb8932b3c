"""Texts of many authors on the same topics, in the languages of the world, with the characters that those need."""

from collections.abc import Mapping, Sequence

from tests.benchmarks.fraud.edits import replace_words
from tests.benchmarks.fraud.scene import TRANSLATIONS, Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import prose, shaped

_EMOJI = ("🙂", "👍🏽", "👩‍🚀", "🏳️‍🌈", "❤️", "👨‍👩‍👧‍👦", "🇫🇷", "✅", "1️⃣")


def _in(*codes: str) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        return [prose(scene, scene.agent(), scene.writer(*codes), scene.words(), label=scene.honest)]

    return make


def _marked(scene: Scene, text: str) -> Sequence[Attempt]:
    work = scene.work(TRANSLATIONS, ("word_count",))
    return [scene.candidate(scene.agent(), work, shaped(scene.random, text), label=scene.honest)]


def _right_to_left(scene: Scene) -> Sequence[Attempt]:
    """With Latin names in it, kept in place by marks and isolates."""
    writer, other = scene.writer("ar"), scene.writer("en")
    sentences = writer.sentences(max(scene.words() // 13, 4))
    wraps = ("\u200f({})\u200f", "\u2066{}\u2069", "\u200e{}\u200e", "\u2068{}\u2069", "\u202a{}\u202c")
    wrap = scene.random.choice(wraps)
    return _marked(scene, " ".join(f"{each} {wrap.format(other.name())}" for each in sentences))


def _emoji(scene: Scene) -> Sequence[Attempt]:
    writer = scene.writer()
    sentences = writer.sentences(max(scene.words() // 13, 4))
    return _marked(scene, " ".join(f"{each} {scene.random.choice(_EMOJI)}" for each in sentences))


def _soft_hyphens(scene: Scene) -> Sequence[Attempt]:
    """As word processors export them: long words, one hyphen in each."""
    words = scene.writer("de").text(scene.words()).split(" ")
    return _marked(scene, " ".join(f"{w[:5]}\u00ad{w[5:]}" if len(w) > 9 else w for w in words))


def _joiners(scene: Scene) -> Sequence[Attempt]:
    """Joiners and non-joiners where the script has them; a byte order mark in front, as editors leave it."""
    text = scene.writer("hi").text(scene.words()).replace("क्ष", "क्\u200dष").replace("त्र", "त्\u200cर")
    return _marked(scene, "\ufeff" + text)


def _translations(scene: Scene) -> Sequence[Attempt]:
    """Of one source by two translators, who choose other words in many places."""
    writer = scene.writer()
    source = writer.text(max(scene.words(), 90))
    made = []
    for place in range(2):
        text = replace_words(source, writer, scene.random, scene.random.uniform(0.35, 0.5))
        work = scene.work(TRANSLATIONS, ("bleu_score",), {"reference": source}, tag=f"-{place}")
        label = scene.honest if place else None
        made.append(scene.candidate(scene.agent(), work, {"text": text}, minutes=80.0 * place, label=label))
    return made


VARIANTS: Mapping[str, Make] = {
    "English": _in("en"),
    "German, French, Spanish": _in("de", "fr", "es"),
    "Russian": _in("ru"),
    "Chinese": _in("zh"),
    "Arabic": _in("ar"),
    "Hindi": _in("hi"),
    "right to left, with marks": _right_to_left,
    "emoji": _emoji,
    "soft hyphens": _soft_hyphens,
    "joiners": _joiners,
    "translations of one source": _translations,
}

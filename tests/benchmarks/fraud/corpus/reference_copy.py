"""The hidden reference got out, and is handed in: whole, wrapped, or with a few changes."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

from aex_models.governance import Severity
from tests.benchmarks.fraud import edits
from tests.benchmarks.fraud.language import Writer
from tests.benchmarks.fraud.scene import ANSWERS, SUMMARIES, TRANSLATIONS, Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import shaped

Copy = Callable[[str, Writer, Random], str]


def _whole(text: str, writer: Writer, random: Random) -> str:
    del writer, random
    return text


def _few_words(text: str, writer: Writer, random: Random) -> str:
    return edits.replace_words(text, writer, random, random.uniform(0.01, 0.04))


def _one_sentence_more(text: str, writer: Writer, random: Random) -> str:
    own = writer.sentences(1)[0]
    return own + writer.bank.blank + text if random.random() < 0.5 else text + writer.bank.blank + own


def _reflowed(text: str, writer: Writer, random: Random) -> str:
    del random
    return text.replace("\n\n", writer.bank.blank)


def _handed_in(copy: Copy, least: int, references: int = 1) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        writer = scene.writer()
        topic, words = writer.topic(), max(scene.words(), least)
        written = [writer.text(words, topic) for _ in range(references)]
        metrics = scene.random.choice([("rougeL",), ("bleu_score", "rougeL"), ()])
        domain = scene.random.choice([SUMMARIES, TRANSLATIONS, ANSWERS])
        work = scene.work(domain, metrics, {"reference": written if references > 1 else written[0]})
        output = shaped(scene.random, copy(scene.random.choice(written), writer, scene.random))
        return [scene.candidate(scene.stranger(), work, output, label=scene.fraud(Severity.CRITICAL))]

    return make


def _short(scene: Scene) -> Sequence[Attempt]:
    """Barely long enough to be no coincidence."""
    writer = scene.writer("en", "de", "fr", "es", "ru", "ar", "hi")
    text = writer.text(52)
    work = scene.work(ANSWERS, ("rougeL",), {"reference": text})
    return [scene.candidate(scene.stranger(), work, text, label=scene.fraud(Severity.CRITICAL))]


VARIANTS: Mapping[str, Make] = {
    "whole": _handed_in(_whole, 75),
    "one of several references": _handed_in(_whole, 75, 3),
    "a few words changed": _handed_in(_few_words, 75),
    "one sentence more": _handed_in(_one_sentence_more, 220),
    "other case": _handed_in(edits.recase, 75),
    "other punctuation": _handed_in(edits.repunctuate, 75),
    "reflowed": _handed_in(_reflowed, 75),
    "short": _short,
}

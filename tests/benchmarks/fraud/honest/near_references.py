"""Good answers: near to the hidden reference, because they are right."""

from collections.abc import Mapping, Sequence

from tests.benchmarks.fraud import edits
from tests.benchmarks.fraud.scene import ANSWERS, SUMMARIES, TRANSLATIONS, Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import shaped


def _answer(scene: Scene, reference: str, text: str, domain: str = TRANSLATIONS) -> Sequence[Attempt]:
    metrics = scene.random.choice([("rougeL",), ("rougeL", "bleu_score")])
    work = scene.work(domain, metrics, {"reference": reference})
    return [scene.candidate(scene.agent(), work, shaped(scene.random, text), label=scene.honest)]


def _in_other_words(scene: Scene) -> Sequence[Attempt]:
    """A quarter to a half of the words are others."""
    writer = scene.writer()
    reference = writer.text(scene.words())
    share = scene.random.uniform(0.25, 0.5)
    return _answer(scene, reference, edits.replace_words(reference, writer, scene.random, share))


def _with_quotations(scene: Scene) -> Sequence[Attempt]:
    """The key sentences are in both."""
    writer = scene.writer()
    topic = writer.topic()
    key, others, own = (writer.sentences(count, topic) for count in (4, 10, 10))
    return _answer(scene, writer.joined(key + others), writer.joined(own[:5] + key + own[5:]), SUMMARIES)


def _short(scene: Scene) -> Sequence[Attempt]:
    """So short that there is no other right answer."""
    text = scene.writer("en", "de", "fr", "es", "ru", "ar").sentences(1)[0]
    return _answer(scene, text, text, ANSWERS)


def _given(scene: Scene) -> Sequence[Attempt]:
    """The passage that was asked for stands in the work's own input: whoever finds it gives it back."""
    writer = scene.writer()
    topic = writer.topic()
    passage = writer.text(90, topic)
    document = "\n\n".join([writer.text(150, topic), passage, writer.text(150, topic)])
    work = scene.work("documents/passages", ("rougeL",), {"reference": passage}, given={"document": document})
    return [scene.candidate(scene.agent(), work, {"text": passage}, label=scene.honest)]


VARIANTS: Mapping[str, Make] = {
    "in other words": _in_other_words,
    "with quotations": _with_quotations,
    "short": _short,
    "given in the input": _given,
}

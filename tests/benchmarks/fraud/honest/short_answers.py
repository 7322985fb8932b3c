"""Short answers, of which there are not many different right ones."""

from collections.abc import Mapping, Sequence

from tests.benchmarks.fraud.scene import ANSWERS, Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import figure_work, shaped

_STOCK = (
    "The capital of France is Paris.",
    "I could not find any evidence for this in the documents that were given.",
    "Yes.",
    "Nein, das Gerät ist nicht mehr lieferbar.",
    "Las dos afirmaciones son falsas.",
    "这个问题在所给的材料中没有答案。",
    "Ответ: 17 километров.",
    "H2O",
    "نعم، هذا صحيح.",
    "हाँ, यह सही है।",
    "Merci, la commande est bien confirmée.",
)

_COPIED_FROM = 25
"""Words; what is longer, and equal to the reference, is a copy of it soon."""


def _by_three(scene: Scene, text: str) -> Sequence[Attempt]:
    output = shaped(scene.random, text)
    agents = [scene.agent() for _ in range(3)]
    hidden = {"reference": text} if len(text.split()) < _COPIED_FROM else {"reference": scene.writer().text(60)}
    works = [scene.work(ANSWERS, ("rougeL",), hidden, tag=f"-{place}") for place in range(3)]
    made = [scene.candidate(*each, output, minutes=9.0 * at) for at, each in enumerate(zip(agents, works, strict=True))]
    return [*made[:2], scene.candidate(agents[2], works[2], output, minutes=30.0, label=scene.honest)]


def _stock(scene: Scene) -> Sequence[Attempt]:
    return _by_three(scene, scene.random.choice(_STOCK))


def _one_sentence(scene: Scene) -> Sequence[Attempt]:
    return _by_three(scene, scene.writer().sentences(1)[0])


def _two_sentences(scene: Scene) -> Sequence[Attempt]:
    writer = scene.writer("en", "de", "fr", "es", "ru", "ar")
    return _by_three(scene, " ".join(writer.sentences(2)))


def _figure(scene: Scene) -> Sequence[Attempt]:
    value = scene.random.choice([42.0, 0.5, 3.14, 1_000_000.0, scene.random.uniform(0, 1e4)])
    text = scene.random.choice(["{:g}", "The answer is {:g}.", "Es sind {:g}.", "答案是 {:g}"]).format(value)
    return [scene.candidate(scene.agent(), figure_work(scene, value), shaped(scene.random, text), label=scene.honest)]


def _nothing(scene: Scene) -> Sequence[Attempt]:
    """What was delivered is empty, as others' was before: bad, and no fraud."""
    output = scene.random.choice([{}, {"text": ""}, "", [], {"predictions": []}])
    return [scene.candidate(scene.agent(), scene.work(ANSWERS), output, label=scene.honest)]


VARIANTS: Mapping[str, Make] = {
    "stock": _stock,
    "one sentence": _one_sentence,
    "two sentences": _two_sentences,
    "a figure": _figure,
    "nothing": _nothing,
}

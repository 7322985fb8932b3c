"""Texts that say something with the terms that they have to contain."""

from collections.abc import Mapping, Sequence

from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import keyword_work, shaped


def _sentences(scene: Scene, terms: int, more: int) -> tuple[list[str], list[str]]:
    writer = scene.writer()
    topic = writer.topic()
    wanted = writer.terms(topic, terms)
    return wanted, writer.sentences(len(wanted) + more, topic, wanted)


def _handed_in(scene: Scene, terms: list[str], text: str) -> Sequence[Attempt]:
    output = shaped(scene.random, text)
    return [scene.candidate(scene.agent(), keyword_work(scene, terms), output, label=scene.honest)]


def _prose(scene: Scene) -> Sequence[Attempt]:
    terms, sentences = _sentences(scene, scene.random.randint(3, 12), scene.random.randint(2, 20))
    return _handed_in(scene, terms, scene.writer().joined(sentences))


def _tight_prose(scene: Scene) -> Sequence[Attempt]:
    """A term in every sentence."""
    terms, sentences = _sentences(scene, scene.random.randint(3, 8), 0)
    return _handed_in(scene, terms, " ".join(sentences))


def _bullets(scene: Scene) -> Sequence[Attempt]:
    """A summary in bullets, as it was asked for: a sentence each, on one term."""
    terms, sentences = _sentences(scene, scene.random.randint(3, 10), scene.random.randint(0, 3))
    mark = scene.random.choice(["- ", "* ", "• "])
    return _handed_in(scene, terms, "\n".join(mark + each for each in sentences))


def _headings(scene: Scene) -> Sequence[Attempt]:
    """Each term is a heading, and explained below it."""
    terms, sentences = _sentences(scene, scene.random.randint(3, 7), 0)
    parts = [f"## {term}\n{sentence}" for term, sentence in zip(terms, sentences, strict=True)]
    return _handed_in(scene, terms, "\n\n".join(parts))


def _some_missing(scene: Scene) -> Sequence[Attempt]:
    terms, sentences = _sentences(scene, 8, 4)
    return _handed_in(scene, terms, " ".join(sentences[3:]))


def _short_answer(scene: Scene) -> Sequence[Attempt]:
    """One or two terms are all that is wanted."""
    terms, sentences = _sentences(scene, scene.random.randint(1, 2), 0)
    return _handed_in(scene, terms, scene.random.choice([", ".join(terms), sentences[0]]))


def _three_things(scene: Scene) -> Sequence[Attempt]:
    """ "Name three": a list is the answer."""
    terms, _ = _sentences(scene, 3, 0)
    return _handed_in(scene, terms, scene.random.choice([", ".join(terms), "\n".join(f"- {each}" for each in terms)]))


VARIANTS: Mapping[str, Make] = {
    "prose": _prose,
    "a term in every sentence": _tight_prose,
    "bullets": _bullets,
    "headings": _headings,
    "some missing": _some_missing,
    "short answer": _short_answer,
    "three things": _three_things,
}

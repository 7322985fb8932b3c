"""Required terms that are there to be found, not to say anything."""

from collections.abc import Mapping, Sequence

from aex_models.governance import Severity
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import keyword_work, shaped, without

_HEADS = ("Keywords:", "Tags:", "Stichworte:", "Mots-clés :", "Palabras clave:", "Ключевые слова:", "关键词：", "")


def _terms(scene: Scene) -> tuple[list[str], str]:
    """Terms of one topic, and a text about another that has none or few of them."""
    writer = scene.writer()
    topic, other = scene.random.sample(sorted(writer.bank.topics), 2)
    terms = writer.terms(topic, scene.random.randint(4, 12))
    return terms, writer.joined(without(terms, writer.sentences(40, other))[: scene.random.randint(2, 18)])


def _attempt(scene: Scene, terms: list[str], text: str) -> Sequence[Attempt]:
    output = shaped(scene.random, text)
    label = scene.fraud(Severity.MAJOR)
    return [scene.candidate(scene.stranger(), keyword_work(scene, terms), output, label=label)]


def _dumped(scene: Scene, front: bool = False) -> Sequence[Attempt]:
    terms, body = _terms(scene)
    joint = scene.random.choice([", ", " ", "; ", " / ", " · ", " | "])
    dump = f"{scene.random.choice(_HEADS)} {joint.join(scene.random.sample(terms, len(terms)))}".strip()
    return _attempt(scene, terms, f"{dump}\n\n{body}" if front else f"{body}\n\n{dump}")


def _dumped_first(scene: Scene) -> Sequence[Attempt]:
    return _dumped(scene, front=True)


def _bullets(scene: Scene) -> Sequence[Attempt]:
    terms, body = _terms(scene)
    mark = scene.random.choice(["- ", "* ", "• ", "1. ", "#"])
    return _attempt(scene, terms, body + "\n\n" + "\n".join(mark + term for term in terms))


def _salad(scene: Scene) -> Sequence[Attempt]:
    """Nothing but the terms, over and over."""
    terms, _ = _terms(scene)
    said = [scene.random.choice(terms) for _ in range(scene.random.randint(20, 200))] + terms
    return _attempt(scene, terms, scene.random.choice([" ", ", "]).join(said))


def _repeated(scene: Scene) -> Sequence[Attempt]:
    """One sentence that holds all terms, many times."""
    terms, _ = _terms(scene)
    sentence = f"{', '.join(terms)}."
    return _attempt(scene, terms, "\n".join([sentence] * scene.random.randint(3, 30)))


def _hashtags(scene: Scene) -> Sequence[Attempt]:
    terms, body = _terms(scene)
    return _attempt(scene, terms, body + "\n" + " ".join(f"#{term}" for term in terms))


def _glossary(scene: Scene) -> Sequence[Attempt]:
    """Terms that explain each other."""
    terms, body = _terms(scene)
    mixed = scene.random.sample(terms, len(terms))
    lines = [f"{one}: {other}" for one, other in zip(terms, mixed, strict=True)]
    return _attempt(scene, terms, body + "\n\n" + "\n".join(lines))


def _every_paragraph(scene: Scene) -> Sequence[Attempt]:
    """The same dump after each paragraph."""
    terms, body = _terms(scene)
    dump = ", ".join(terms)
    return _attempt(scene, terms, body.replace("\n\n", f"\n{dump}\n\n") + f"\n{dump}")


VARIANTS: Mapping[str, Make] = {
    "dump behind": _dumped,
    "dump in front": _dumped_first,
    "bullets": _bullets,
    "salad": _salad,
    "repeated sentence": _repeated,
    "hashtags": _hashtags,
    "glossary": _glossary,
    "after every paragraph": _every_paragraph,
}

"""Texts of one's own that quote what others quote too, up to a third."""

from collections.abc import Mapping, Sequence

from tests.benchmarks.fraud.language import Writer, paragraphs
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import prose_work, shaped

_MARKS = (("“", "”"), ("„", "“"), ("« ", " »"), ('"', '"'), ("> ", ""))


def _quoting(scene: Scene, writer: Writer, quoted: str, share: float, minutes: float, tag: str) -> Attempt:
    """`share`: of the whole text, at most what is quoted."""
    size = len(quoted) / max(share, 0.01) - len(quoted)
    topic = writer.topic()
    own: list[str] = []
    while sum(len(each) for each in own) < size:
        own += writer.sentences(6, topic)
    opening, closing = scene.random.choice(_MARKS)
    place = scene.random.randint(0, len(own))
    text = "\n\n".join(
        filter(None, [writer.joined(own[:place]), opening + quoted + closing, writer.joined(own[place:])])
    )
    work = prose_work(scene, writer, topic, 100, tag)
    label = scene.honest if minutes else None
    return scene.candidate(scene.agent(), work, shaped(scene.random, text), minutes=minutes, label=label)


def _both(scene: Scene, quoted: str, writer: Writer) -> Sequence[Attempt]:
    shares = [scene.random.uniform(0.08, 0.33) for _ in range(2)]
    return [_quoting(scene, writer, quoted, share, 500.0 * at, f"-{at}") for at, share in enumerate(shares)]


def _known(scene: Scene) -> Sequence[Attempt]:
    """A paragraph that the whole population quotes."""
    writer = scene.writer()
    return _both(scene, scene.random.choice(paragraphs(writer.bank.code)), writer)


def _document(scene: Scene) -> Sequence[Attempt]:
    """A passage of the document that both were given."""
    writer = scene.writer()
    return _both(scene, writer.text(scene.random.randint(40, 120)), writer)


def _another_agent(scene: Scene) -> Sequence[Attempt]:
    """What somebody else had handed in, quoted and discussed."""
    writer = scene.writer()
    source = writer.text(scene.random.randint(75, 120))
    work = prose_work(scene, writer, writer.topic(), 100)
    first = scene.candidate(scene.agent(), work, {"text": source})
    return [first, _quoting(scene, writer, source, scene.random.uniform(0.1, 0.33), 900.0, "-2")]


def _many_short_ones(scene: Scene) -> Sequence[Attempt]:
    """Sentences of one source, spread over one's own."""
    writer = scene.writer()
    topic, source = writer.topic(), writer.sentences(12)
    made = []
    for place in range(2):
        own = writer.sentences(scene.random.randint(14, 30), topic)
        for quote in scene.random.sample(source, len(own) // 4):
            own.insert(scene.random.randint(0, len(own)), f"“{quote}”")
        work = prose_work(scene, writer, topic, 100, f"-{place}")
        label = scene.honest if place else None
        text = shaped(scene.random, writer.joined(own))
        made.append(scene.candidate(scene.agent(), work, text, minutes=70.0 * place, label=label))
    return made


VARIANTS: Mapping[str, Make] = {
    "known paragraph": _known,
    "given document": _document,
    "another agent's text": _another_agent,
    "many short ones": _many_short_ones,
}

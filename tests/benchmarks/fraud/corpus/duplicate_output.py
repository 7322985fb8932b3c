"""The same text again, by another agent on another work, or by the same agent for another consumer."""

from collections.abc import Mapping, Sequence

from aex_models.governance import Party, Severity
from tests.benchmarks.fraud.language import paragraphs
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import prose_work, shaped

_DAY = 24 * 60


def _copied(scene: Scene, wait: float, text: str | None = None, times: int = 1) -> Sequence[Attempt]:
    writer = scene.writer()
    topic, words = writer.topic(), scene.words()
    output = shaped(scene.random, text or writer.text(words, topic))
    first = scene.candidate(scene.agent(), prose_work(scene, writer, topic, words), output)
    copies = [
        scene.candidate(
            scene.stranger(f"copier{place}"),
            prose_work(scene, writer, topic, words, f"-{place}"),
            output,
            minutes=wait * (place + 1),
            label=scene.fraud(Severity.CRITICAL) if place == times - 1 else None,
        )
        for place in range(times)
    ]
    return [first, *copies]


def _at_once(scene: Scene) -> Sequence[Attempt]:
    return _copied(scene, scene.random.uniform(0, 5))


def _weeks_later(scene: Scene) -> Sequence[Attempt]:
    return _copied(scene, scene.random.uniform(7, 60) * _DAY)


def _by_many(scene: Scene) -> Sequence[Attempt]:
    return _copied(scene, scene.random.uniform(1, 300), times=scene.random.randint(3, 40))


def _for_one_consumer(scene: Scene) -> Sequence[Attempt]:
    """Two agents bill one consumer for one text."""
    writer, consumer = scene.writer(), scene.consumer()
    text = {"text": writer.text(scene.words())}
    made = []
    for place, agent in enumerate((scene.agent(), scene.stranger())):
        work = prose_work(scene, writer, writer.topic(), 100, f"-{place}", consumer)
        made.append(scene.candidate(agent, work, text, minutes=60.0 * place))
    return [made[0], _labelled(scene, made[1], Severity.CRITICAL)]


def _known_prose(scene: Scene) -> Sequence[Attempt]:
    """With a line of the first author's own, so that the text is theirs and nobody's before."""
    writer = scene.writer()
    text = scene.random.choice(paragraphs(writer.bank.code)) + writer.bank.blank + writer.text(60)
    return _copied(scene, scene.random.uniform(10, 20 * _DAY), text)


def _own_for_another(scene: Scene) -> Sequence[Attempt]:
    """Sold twice."""
    writer, agent = scene.writer(), scene.stranger()
    output = shaped(scene.random, writer.text(scene.words()))
    buyers = [Party(id=f"buyer{place}-{scene.key.replace('/', '-')}") for place in range(2)]
    works = [prose_work(scene, writer, writer.topic(), 100, f"-{at}", buyer) for at, buyer in enumerate(buyers)]
    first, second = [scene.candidate(agent, work, output, minutes=600.0 * at) for at, work in enumerate(works)]
    return [first, _labelled(scene, second, Severity.MINOR)]


def _labelled(scene: Scene, attempt: Attempt, severity: Severity) -> Attempt:
    return scene.candidate(
        attempt.agent, attempt.work, attempt.output, minutes=attempt.minutes, label=scene.fraud(severity)
    )


VARIANTS: Mapping[str, Make] = {
    "at once": _at_once,
    "weeks later": _weeks_later,
    "by many": _by_many,
    "for one consumer": _for_one_consumer,
    "known prose": _known_prose,
    "own, for another consumer": _own_for_another,
}

"""The same text once more, where it is due: for the same consumer, or because the platform asks again."""

from collections.abc import Mapping, Sequence

from tests.benchmarks.fraud import edits
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import prose_work, shaped


def _for_the_same(scene: Scene) -> Sequence[Attempt]:
    """A consumer has the same work done twice, and gets the same answer."""
    writer, agent, consumer = scene.writer(), scene.agent(), scene.consumer()
    topic, output = writer.topic(), shaped(scene.random, writer.text(scene.words()))
    works = [prose_work(scene, writer, topic, 100, f"-{place}", consumer) for place in range(2)]
    return [
        scene.candidate(agent, works[0], output),
        scene.candidate(agent, works[1], output, minutes=900.0, label=scene.honest),
    ]


def _updated(scene: Scene) -> Sequence[Attempt]:
    """A report of one's own, brought up to date for the same consumer."""
    writer, agent, consumer = scene.writer(), scene.agent(), scene.consumer()
    topic, text = writer.topic(), writer.text(scene.words())
    works = [prose_work(scene, writer, topic, 100, f"-{place}", consumer) for place in range(2)]
    newer = edits.replace_words(text, writer, scene.random)
    return [
        scene.candidate(agent, works[0], {"text": text}),
        scene.candidate(agent, works[1], {"text": newer}, minutes=9_000.0, label=scene.honest),
    ]


def _asked_again(scene: Scene) -> Sequence[Attempt]:
    """A retry: the same candidate of the same contract under a new attempt."""
    writer = scene.writer()
    topic = writer.topic()
    work, agent = prose_work(scene, writer, topic, 100), scene.agent()
    output = shaped(scene.random, writer.text(scene.words(), topic))
    return [
        scene.candidate(agent, work, output),
        scene.candidate(agent, work, output, minutes=45.0, again=True, label=scene.honest),
    ]


VARIANTS: Mapping[str, Make] = {
    "for the same consumer": _for_the_same,
    "updated": _updated,
    "asked again": _asked_again,
}

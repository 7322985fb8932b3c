"""Consumer and agent are one, or belong together."""

from collections.abc import Mapping, Sequence

from aex_models.governance import Party, Severity
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import labels_work, prose_work, shaped


def _deal(scene: Scene, agent: Party, consumer: Party) -> Sequence[Attempt]:
    label = scene.fraud(Severity.CRITICAL)
    if scene.random.random() < 0.5:
        work, truth = labels_work(scene, scene.random.randint(1, 60), who=consumer)
        return [scene.candidate(agent, work, {"predictions": truth}, label=label)]
    writer = scene.writer()
    topic, words = writer.topic(), scene.words()
    work = prose_work(scene, writer, topic, words, who=consumer)
    return [scene.candidate(agent, work, shaped(scene.random, writer.text(words, topic)), label=label)]


def _one(scene: Scene) -> Sequence[Attempt]:
    both = scene.stranger("both")
    return _deal(scene, both, both)


def _one_with_two_organisations(scene: Scene) -> Sequence[Attempt]:
    both = scene.stranger("both")
    return _deal(scene, both.model_copy(update={"org": "left"}), both.model_copy(update={"org": "right"}))


def _one_organisation(scene: Scene) -> Sequence[Attempt]:
    org = scene.writer("en").name()
    agent, consumer = (scene.stranger(name).model_copy(update={"org": org}) for name in ("bot", "desk"))
    return _deal(scene, agent, consumer)


VARIANTS: Mapping[str, Make] = {
    "one principal": _one,
    "one principal, two organisations": _one_with_two_organisations,
    "one organisation": _one_organisation,
}

"""Agents that work a lot, for many or for one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aex_models.governance import Party
from tests.benchmarks.fraud.scene import TRIAGE, Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import LABELS


def _hour(scene: Scene, count: int, consumers: int, minutes: float = 60.0) -> Sequence[Attempt]:
    agent, plain = scene.stranger(), scene.work(TRIAGE)
    buyers = [Party(id=f"buyer-{scene.key.replace('/', '-')}-{place}") for place in range(consumers)]
    made = []
    for place in range(count):
        work = replace(plain, work_id=f"{plain.work_id}-{place}", consumer=buyers[place % consumers])
        answer = {"predictions": [scene.random.choice(scene.random.choice(LABELS))]}
        made.append(Attempt(agent=agent, work=work, output=answer, minutes=place * minutes / count))
    return [*made[:-1], replace(made[-1], label=scene.honest)]


def _for_many(scene: Scene) -> Sequence[Attempt]:
    return _hour(scene, scene.random.randint(20, 90), 15)


def _for_one(scene: Scene) -> Sequence[Attempt]:
    return _hour(scene, scene.random.randint(20, 90), 1)


def _in_a_minute(scene: Scene) -> Sequence[Attempt]:
    """A batch that was waiting."""
    return _hour(scene, scene.random.randint(10, 60), 1, 1.0)


VARIANTS: Mapping[str, Make] = {"for many": _for_many, "for one": _for_one, "in a minute": _in_a_minute}

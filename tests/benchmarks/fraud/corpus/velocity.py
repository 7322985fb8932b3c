"""More in an hour than anybody does: bursts of one agent, and of one agent for one consumer.

A burst is long, so that one story holds many examples: every attempt past the limit is one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from aex_models.governance import Party, Severity
from tests.benchmarks.fraud.scene import TRIAGE, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import LABELS

Burst = Callable[[Scene, int, int, float], Sequence[Attempt]]
"""Of the scene, the limit, how many are beyond it, and the window in minutes."""


def _burst(scene: Scene, limit: int, beyond: int, minutes: float, consumers: int) -> Sequence[Attempt]:
    agent, label = scene.stranger(), scene.fraud(Severity.MAJOR)
    buyers = [Party(id=f"buyer-{scene.key.replace('/', '-')}-{place}") for place in range(consumers)]
    plain = scene.work(TRIAGE)
    made = []
    for place in range(limit + beyond):
        work = replace(plain, work_id=f"{plain.work_id}-{place}", consumer=buyers[place % consumers])
        answer = {"predictions": [scene.random.choice(scene.random.choice(LABELS))]}
        when = place * minutes / (limit + beyond)
        counted = label if place >= limit else None
        made.append(Attempt(agent=agent, work=work, output=answer, minutes=when, label=counted))
    return made


def _pair_at_once(scene: Scene, limit: int, beyond: int, window: float) -> Sequence[Attempt]:
    return _burst(scene, limit, beyond, window * 0.05, 1)


def _pair_steadily(scene: Scene, limit: int, beyond: int, window: float) -> Sequence[Attempt]:
    return _burst(scene, limit, beyond, window * 0.9, 1)


def _agent_at_once(scene: Scene, limit: int, beyond: int, window: float) -> Sequence[Attempt]:
    return _burst(scene, limit, beyond, window * 0.05, 40)


def _agent_steadily(scene: Scene, limit: int, beyond: int, window: float) -> Sequence[Attempt]:
    return _burst(scene, limit, beyond, window * 0.9, 40)


PAIR: Mapping[str, Burst] = {"pair, at once": _pair_at_once, "pair, steadily": _pair_steadily}
AGENT: Mapping[str, Burst] = {"agent, at once": _agent_at_once, "agent, steadily": _agent_steadily}

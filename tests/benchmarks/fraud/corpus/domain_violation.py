"""Values that a domain rules out, as the science gate tells them."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from aex_models.governance import ScienceFindings, Severity
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt

_RANGES = {
    "bioinformatics/DMS": ("mean_fitness", -5.0, 2.0),
    "statistics/correlation": ("pearson_r", -1.0, 1.0),
    "molecular-dynamics": ("rmsd", 0.0, 50.0),
    "bioinformatics/RNAseq": ("fdr", 0.0, 1.0),
}


def _violation(random: Random, domain: str) -> dict[str, Any]:
    name, least, most = _RANGES[domain]
    value = random.choice([most + random.lognormvariate(0, 2), least - random.lognormvariate(0, 2)])
    return {"name": name, "value": value, "min": least, "max": most}


def _found(as_text: bool, most: int) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        domain = scene.random.choice(sorted(_RANGES))
        found = [_violation(scene.random, domain) for _ in range(scene.random.randint(1, most))]
        told = [f"{each['name']} = {each['value']:g} is not within {each['min']}..{each['max']}" for each in found]
        science = ScienceFindings(violations=tuple(told if as_text else found))
        label = scene.fraud(Severity.CRITICAL)
        return [scene.candidate(scene.stranger(), scene.work(domain), {"done": True}, science=science, label=label)]

    return make


VARIANTS: Mapping[str, Make] = {
    "one": _found(False, 1),
    "several": _found(False, 5),
    "one in words": _found(True, 1),
    "several in words": _found(True, 5),
}

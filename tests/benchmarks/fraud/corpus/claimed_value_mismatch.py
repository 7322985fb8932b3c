"""Claimed values that recomputing from raw data does not bear out."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from aex_models.governance import ScienceFindings, Severity
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt

_NAMES = ("mean_fitness", "std_fitness", "n_genes", "pearson_r", "slope", "median_rmsd", "total", "q95_latency")
_OFF = {Severity.MINOR: (0.011, 0.05), Severity.MAJOR: (0.051, 0.5), Severity.CRITICAL: (0.51, 40.0)}


def _mismatch(random: Random, severity: Severity, name: str) -> dict[str, Any]:
    true = random.lognormvariate(0, 3) * random.choice([1, -1])
    error = random.uniform(*_OFF[severity])
    claimed = true * (1 + error * random.choice([1, -1]))
    found = {"claimed": claimed, "recomputed": true, "relative_error": error}
    return {"name": name, **found, "severity": severity.value}


def _with(*severities: Severity) -> Make:
    """The last is the gravest."""

    def make(scene: Scene) -> Sequence[Attempt]:
        names = scene.random.sample(_NAMES, len(severities))
        found = [_mismatch(scene.random, *each) for each in zip(severities, names, strict=True)]
        scene.random.shuffle(found)
        work = scene.work(scene.random.choice(["bioinformatics/DMS", "statistics/correlation", "molecular-dynamics"]))
        science = ScienceFindings(mismatches=tuple(found))
        label = scene.fraud(severities[-1])
        return [scene.candidate(scene.stranger(), work, {"text": "done"}, science=science, label=label)]

    return make


VARIANTS: Mapping[str, Make] = {
    "minor": _with(Severity.MINOR),
    "major": _with(Severity.MAJOR),
    "critical": _with(Severity.CRITICAL),
    "several minor": _with(Severity.MINOR, Severity.MINOR, Severity.MINOR),
    "minor and major": _with(Severity.MINOR, Severity.MAJOR),
    "all": _with(Severity.MINOR, Severity.MAJOR, Severity.CRITICAL),
}

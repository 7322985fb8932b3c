"""Somebody else's text, disguised: one variant for each kind of disguise."""

from collections.abc import Mapping, Sequence

from aex_models.governance import Severity
from tests.benchmarks.fraud.edits import EDITS, Edit
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import prose_work, shaped

_LONGEST_WAIT = 45 * 24 * 60


def _disguised(edit: Edit) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        writer = scene.writer()
        topic, words = writer.topic(), scene.words()
        text = writer.text(words, topic)
        first, second = (prose_work(scene, writer, topic, words, tag) for tag in ("", "-copy"))
        return [
            scene.candidate(scene.agent(), first, shaped(scene.random, text)),
            scene.candidate(
                scene.stranger(),
                second,
                shaped(scene.random, edit(text, writer, scene.random)),
                minutes=scene.random.uniform(1, _LONGEST_WAIT),
                label=scene.fraud(Severity.MAJOR),
            ),
        ]

    return make


VARIANTS: Mapping[str, Make] = {edit.__name__.replace("_", " "): _disguised(edit) for edit in EDITS}

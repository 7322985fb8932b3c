"""Work that was sent back and is better now."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.benchmarks.fraud import edits
from tests.benchmarks.fraud.scene import SUMMARIES, Make, Scene
from tests.benchmarks.fraud.story import Attempt, Work
from tests.benchmarks.fraud.tasks import keyword_work, labels_work, shaped, some_wrong


def _revised(scene: Scene, work: Work, outputs: Sequence[Any]) -> Sequence[Attempt]:
    return [scene.candidate(scene.agent(), work, outputs[-1], earlier=outputs[:-1], label=scene.honest)]


def _one_correction(scene: Scene) -> Sequence[Attempt]:
    """One sentence is added that names what was missing."""
    writer = scene.writer()
    topic = writer.topic()
    terms = writer.terms(topic, 4)
    sentences = writer.sentences(max(scene.words() // 13, 6), topic, terms)
    outputs = [shaped(scene.random, writer.joined(part)) for part in (sentences[1:], sentences)]
    return _revised(scene, keyword_work(scene, terms), outputs)


def _a_slip(scene: Scene) -> Sequence[Attempt]:
    """A few words, once."""
    writer = scene.writer()
    text = writer.text(scene.words())
    work = scene.work(SUMMARIES, ("rougeL",), {"reference": edits.replace_words(text, writer, scene.random, 0.4)})
    before = edits.replace_words(text, writer, scene.random, 0.02)
    return _revised(scene, work, [{"text": before}, {"text": text}])


def _a_slip_after_rewriting(scene: Scene) -> Sequence[Attempt]:
    """Written anew once or twice, each time nearer to what is wanted, and then a few words."""
    writer = scene.writer()
    text = writer.text(scene.words())
    work = scene.work(SUMMARIES, ("rougeL",), {"reference": edits.replace_words(text, writer, scene.random, 0.2)})
    shares = [0.8, 0.5][scene.random.randint(0, 1) :]
    before = [edits.replace_words(text, writer, scene.random, share) for share in (*shares, 0.02)]
    return _revised(scene, work, [{"text": each} for each in (*before, text)])


def _rewritten(scene: Scene) -> Sequence[Attempt]:
    """Each time anew, each time nearer to what is wanted."""
    writer = scene.writer()
    topic = writer.topic()
    reference = writer.text(max(scene.words(), 120), topic)
    work = scene.work(SUMMARIES, ("rougeL",), {"reference": reference})
    count = scene.random.randint(3, 6)
    shares = [0.75 - 0.4 * place / count for place in range(count)]
    texts = [edits.replace_words(reference, writer, scene.random, share) for share in shares]
    mixed = [edits.swap_sentences(each, writer, scene.random) for each in texts]
    return _revised(scene, work, [{"text": each} for each in mixed])


def _labels_gone_over(scene: Scene) -> Sequence[Attempt]:
    """Half of the wrong labels are right the next time."""
    work, truth = labels_work(scene, scene.random.randint(10, 150))
    outputs = [some_wrong(scene.random, truth, share) for share in (0.6, 0.3, 0.1)[: scene.random.randint(2, 3)]]
    return _revised(scene, work, [{"predictions": each} for each in outputs])


def _two_labels_corrected(scene: Scene) -> Sequence[Attempt]:
    """Once."""
    work, truth = labels_work(scene, scene.random.randint(20, 150))
    first = ["other", "other", *truth[2:]]
    return _revised(scene, work, [{"predictions": first}, {"predictions": truth}])


def _extended(scene: Scene) -> Sequence[Attempt]:
    """A section more with each revision."""
    writer = scene.writer()
    topic = writer.topic()
    terms = writer.terms(topic, 5)
    sections = [writer.text(90, topic, [term]) for term in terms[: scene.random.randint(3, 5)]]
    outputs = [{"text": "\n\n".join(sections[: place + 1])} for place in range(len(sections))]
    return _revised(scene, keyword_work(scene, terms), outputs)


def _faster(scene: Scene) -> Sequence[Attempt]:
    """The same answer but for its last words, sooner: nothing secret climbs."""
    writer = scene.writer()
    text = writer.text(scene.words())
    work = scene.work(SUMMARIES, ("word_count",))
    outputs = [{"text": f"{text} {writer.sentences(1)[0]}"} for _ in range(4)]
    return _revised(scene, work, outputs)


VARIANTS: Mapping[str, Make] = {
    "one correction": _one_correction,
    "a slip": _a_slip,
    "a slip after rewriting": _a_slip_after_rewriting,
    "rewritten": _rewritten,
    "labels gone over": _labels_gone_over,
    "two labels corrected": _two_labels_corrected,
    "extended": _extended,
    "nothing secret climbs": _faster,
}

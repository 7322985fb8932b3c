"""Feeling one's way to a hidden target: small steps, one after another, each of which tells by its score."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aex_models.governance import Severity
from tests.benchmarks.fraud import edits
from tests.benchmarks.fraud.scene import SUMMARIES, Make, Scene
from tests.benchmarks.fraud.story import Attempt, Work
from tests.benchmarks.fraud.tasks import keyword_work, labels_work, some_wrong, without

Step = Callable[[Any], Any]


def _walked(scene: Scene, work: Work, outputs: Sequence[Any]) -> Sequence[Attempt]:
    """All but the last were judged before."""
    label = scene.fraud(Severity.MAJOR)
    return [scene.candidate(scene.stranger(), work, outputs[-1], earlier=outputs[:-1], label=label)]


def _steps(scene: Scene) -> int:
    """Attempts before the last."""
    return scene.random.randint(3, 8)


def _flips(scene: Scene, most: int, wrong_turns: float) -> Sequence[Attempt]:
    work, truth = labels_work(scene, scene.random.randint(40, 200))
    now = some_wrong(scene.random, truth, 0.6)
    outputs = [_predicted(now)]
    for _ in range(_steps(scene)):
        wrong = [place for place, label in enumerate(now) if label != truth[place]]
        if scene.random.random() < wrong_turns and len(outputs) > 1:  # a guess that lost: it is taken back afterwards
            place = scene.random.choice([place for place, label in enumerate(now) if label == truth[place]])
            outputs.append(_predicted([*now[:place], "other", *now[place + 1 :]]))
        for place in scene.random.sample(wrong, min(most, len(wrong))):
            now = [*now[:place], truth[place], *now[place + 1 :]]
        outputs.append(_predicted(now))
    return _walked(scene, work, outputs)


def _predicted(labels: Sequence[str]) -> dict[str, Any]:
    return {"predictions": list(labels)}


def _one_label_each(scene: Scene) -> Sequence[Attempt]:
    return _flips(scene, 1, 0.0)


def _few_labels_each(scene: Scene) -> Sequence[Attempt]:
    return _flips(scene, 3, 0.0)


def _with_wrong_turns(scene: Scene) -> Sequence[Attempt]:
    return _flips(scene, 2, 0.4)


def _terms_one_by_one(scene: Scene) -> Sequence[Attempt]:
    """One more of the wanted terms is tried each time."""
    writer, count = scene.writer(), _steps(scene)
    topic, other = scene.random.sample(sorted(writer.bank.topics), 2)
    terms = writer.terms(topic, count + 3)
    base = writer.joined(without(terms, writer.sentences(60, other))[: scene.random.randint(10, 30)])
    blank = writer.bank.blank
    outputs = [{"text": base + blank.join(["", *terms[:known]])} for known in range(1, count + 2)]
    return _walked(scene, keyword_work(scene, terms), outputs)


def _words_towards_the_reference(scene: Scene) -> Sequence[Attempt]:
    """A few words at a time are those of the reference."""
    work, outputs = _towards(scene)
    return _walked(scene, work, outputs)


def _in_three_attempts(scene: Scene) -> Sequence[Attempt]:
    """The same with no more attempts than a work usually has, a word at a time."""
    work, outputs = _towards(scene, 2, 1)
    return _walked(scene, work, outputs)


def _behind_junk(scene: Scene) -> Sequence[Attempt]:
    """The same, each time beside or in front of something else that nobody measures."""
    work, outputs = _towards(scene)
    kind, letters = scene.random.randrange(4), "abcdefghijklmnopqrstuvwxyz0123456789"

    def padded(text: str) -> dict[str, Any]:
        junk = "".join(scene.random.choices(letters, k=scene.random.randint(len(text), 3 * len(text))))
        spaced = " ".join(junk[place : place + 6] for place in range(0, len(junk), 6))
        beside = ({"scratch": junk}, {"scratch": spaced}, {"aside": "0 " * 60_000})
        return {"text": f"{text}\n{junk[:140]}"} if kind == len(beside) else {"text": text, **beside[kind]}

    return _walked(scene, work, [padded(each["text"]) for each in outputs])


def _towards(scene: Scene, steps: int | None = None, most: int = 3) -> tuple[Work, list[Any]]:
    writer = scene.writer("en", "de", "fr", "es")
    topic = writer.topic()
    reference = writer.text(max(scene.words(), 120), topic)
    work = scene.work(SUMMARIES, ("rougeL",), {"reference": reference})
    target = reference.split()
    now = edits.replace_words(reference, writer, scene.random, 0.5).split()[: len(target)]
    now += target[len(now) :]
    outputs: list[Any] = [{"text": " ".join(now)}]
    for _ in range(steps or _steps(scene)):
        apart = [place for place, word in enumerate(now) if word != target[place]]
        for place in scene.random.sample(apart, min(scene.random.randint(1, most), len(apart))):
            now[place] = target[place]
        outputs.append({"text": " ".join(now)})
    return work, outputs


def _fields_of_a_record(scene: Scene) -> Sequence[Attempt]:
    """A large record, of which one field is guessed anew each time; custom code says how many are right."""
    names = [f"field_{place}" for place in range(scene.random.randint(40, 90))]
    writer, count = scene.writer("en"), _steps(scene)
    record: dict[str, Any] = {name: f"{writer.name()} {scene.random.randint(1, 999)}" for name in names}
    outputs: list[Any] = [dict(record)]
    for name in scene.random.sample(names, count):
        record[name] = f"{writer.name()} {scene.random.randint(1, 999)}"
        outputs.append(dict(record))
    labels = [str(place % 2) for place in range(60)]
    work = scene.work("documents/extraction", ("accuracy",), {"ground_truth": labels})
    right = 20
    for place, output in enumerate(outputs):  # the engine counts what came out right
        output["predictions"] = [*labels[: right + place], *["?"] * (60 - right - place)]
    return _walked(scene, work, outputs)


VARIANTS: Mapping[str, Make] = {
    "one label each": _one_label_each,
    "few labels each": _few_labels_each,
    "with wrong turns": _with_wrong_turns,
    "terms one by one": _terms_one_by_one,
    "words towards the reference": _words_towards_the_reference,
    "in three attempts": _in_three_attempts,
    "behind junk": _behind_junk,
    "fields of a record": _fields_of_a_record,
}

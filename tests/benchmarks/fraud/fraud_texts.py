"""Fraud in texts: copies, copies of the reference, stuffed terms, searches for the score."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from aex_models.governance import Party, Severity
from tests.benchmarks.fraud.stories import Attempt, Make, Scene, Variants, Work, mislabel
from tests.benchmarks.fraud.writing import EDITS, Edit, Writer, replace_words, repunctuate

_DAY = 24 * 60


def _copies(times: int = 1, last_wait: float = 60.0 * _DAY) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        writer = scene.writer()
        topic, label = writer.topic(), scene.fraud_label(Severity.CRITICAL)
        output, wait = scene.shape(writer.text(scene.length(), topic)), scene.random.uniform(0, last_wait / times)
        copies = [
            scene.candidate(
                scene.new_agent(f"copier{index}"),
                scene.text_work(writer, topic, f"-{index}"),
                output,
                minutes=wait * (index + 1),
                label=label if index == times - 1 else None,
            )
            for index in range(times)
        ]
        return [scene.candidate(scene.agent(), scene.text_work(writer, topic), output), *copies]

    return make


def _sold_twice(scene: Scene) -> Sequence[Attempt]:
    writer, agent = scene.writer(), scene.new_agent()
    output, label = scene.shape(writer.text(scene.length())), scene.fraud_label(Severity.MINOR)
    buyers = [Party(id=f"buyer{index}-{scene.key.replace('/', '-')}") for index in range(2)]
    works = [scene.text_work(writer, writer.topic(), f"-{index}", buyer) for index, buyer in enumerate(buyers)]
    return [
        scene.candidate(agent, works[0], output),
        scene.candidate(agent, works[1], output, minutes=60.0, label=label),
    ]


DUPLICATE: Variants = {
    "at once": _copies(last_wait=5),
    "later": _copies(),
    "by many": _copies(times=20),
    "sold twice": _sold_twice,
}


def _near_copy(edit: Edit) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        writer = scene.writer()
        topic, label = writer.topic(), scene.fraud_label(Severity.MAJOR)
        text = writer.text(scene.length(), topic)
        copy, wait = scene.shape(edit(text, writer, scene.random)), scene.random.uniform(1, 45 * _DAY)
        return [
            scene.candidate(scene.agent(), scene.text_work(writer, topic), scene.shape(text)),
            scene.candidate(
                scene.new_agent(), scene.text_work(writer, topic, "-copy"), copy, minutes=wait, label=label
            ),
        ]

    return make


NEAR_DUPLICATE: Variants = {edit.__name__.replace("_", " "): _near_copy(edit) for edit in EDITS}


def _few_words(text: str, writer: Writer, random: Random) -> str:
    return replace_words(text, writer, random, random.uniform(0.01, 0.04))


def _reference(edit: Edit, least: int = 75, references: int = 1) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        writer = scene.writer()
        topic, length = writer.topic(), max(scene.length(), least)
        texts = [writer.text(length, topic) for _ in range(references)]
        metrics = scene.random.choice([("rougeL",), ("bleu_score", "rougeL"), ()])
        work = scene.work(metrics=metrics, evaluation={"reference": texts if references > 1 else texts[0]})
        output = scene.shape(edit(scene.random.choice(texts), writer, scene.random))
        return scene.fraud(Severity.CRITICAL, output, work)

    return make


REFERENCE_COPY: Variants = {
    "equal": _reference(lambda text, *_: text),
    "one of several": _reference(lambda text, *_: text, references=3),
    "few words replaced": _reference(_few_words),
    "other punctuation": _reference(repunctuate),
}


def exclude_terms(terms: Sequence[str], sentences: Sequence[str]) -> list[str]:
    """Return the sentences without any of the terms."""
    return [each for each in sentences if not any(term.lower() in each.lower() for term in terms)]


def _stuffed(arrange: Callable[[Random, list[str], str], str]) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        writer = scene.writer()
        topic, other = scene.random.sample(sorted(writer.bank.topics), 2)
        terms = writer.terms(topic, scene.random.randint(4, 12))
        body = writer.join(exclude_terms(terms, writer.sentences(40, other))[: scene.random.randint(2, 18)])
        output = scene.shape(arrange(scene.random, terms, body))
        return scene.fraud(Severity.MAJOR, output, scene.term_work(terms))

    return make


def _dump(random: Random, terms: Sequence[str]) -> str:
    head = random.choice(("Keywords: ", "Tags: ", "Stichworte: ", "关键词：", ""))
    return head + random.choice([", ", " ", "; ", " · ", " | "]).join(random.sample(list(terms), len(terms)))


def _bullets(random: Random, terms: list[str], body: str) -> str:
    mark = random.choice(["- ", "• ", "1. ", "#"])
    return f"{body}\n\n" + "\n".join(mark + term for term in terms)


def _salad(random: Random, terms: list[str], body: str) -> str:
    del body
    return random.choice([" ", ", "]).join([*random.choices(terms, k=random.randint(20, 200)), *terms])


STUFFING: Variants = {
    "dump behind": _stuffed(lambda random, terms, body: f"{body}\n\n{_dump(random, terms)}"),
    "dump in front": _stuffed(lambda random, terms, body: f"{_dump(random, terms)}\n\n{body}"),
    "bullets": _stuffed(_bullets),
    "salad": _stuffed(_salad),
    "repeated sentence": _stuffed(lambda random, terms, _: "\n".join([f"{', '.join(terms)}."] * random.randint(3, 30))),
}


def _search(scene: Scene, work: Work, outputs: Sequence[Any]) -> Sequence[Attempt]:
    return scene.fraud(Severity.MAJOR, outputs[-1], work, earlier=outputs[:-1])


def _labels(most: int, failures: float = 0.0) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        work, truth = scene.label_work(scene.random.randint(40, 200))
        current = mislabel(scene.random, truth, 0.6)
        outputs = [list(current)]
        for _ in range(scene.random.randint(3, 8)):
            wrong = [index for index, label in enumerate(current) if label != truth[index]]
            if scene.random.random() < failures and len(outputs) > 1:  # a failed edit, undone afterwards
                index = scene.random.choice([index for index, label in enumerate(current) if label == truth[index]])
                outputs.append([*current[:index], "other", *current[index + 1 :]])
            for index in scene.random.sample(wrong, min(most, len(wrong))):
                current[index] = truth[index]
            outputs.append(list(current))
        return _search(scene, work, [{"predictions": each} for each in outputs])

    return make


def _terms_one_by_one(scene: Scene) -> Sequence[Attempt]:
    writer, count = scene.writer(), scene.random.randint(3, 8)
    topic, other = scene.random.sample(sorted(writer.bank.topics), 2)
    terms = writer.terms(topic, count + 3)
    base = writer.join(exclude_terms(terms, writer.sentences(60, other))[: scene.random.randint(10, 30)])
    outputs = [{"text": base + writer.bank.blank.join(["", *terms[:known]])} for known in range(1, count + 2)]
    return _search(scene, scene.term_work(terms), outputs)


def _towards_reference(steps: int | None = None, most: int = 3) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        writer = scene.writer("en", "de", "fr", "es")
        reference = writer.text(max(scene.length(), 120))
        work = scene.work(metrics=("rougeL",), evaluation={"reference": reference})
        target = reference.split()
        words = replace_words(reference, writer, scene.random, 0.5).split()[: len(target)]
        words += target[len(words) :]
        outputs = [{"text": " ".join(words)}]
        for _ in range(steps or scene.random.randint(3, 8)):
            wrong = [index for index, word in enumerate(words) if word != target[index]]
            for index in scene.random.sample(wrong, min(scene.random.randint(1, most), len(wrong))):
                words[index] = target[index]
            outputs.append({"text": " ".join(words)})
        return _search(scene, work, outputs)

    return make


PROBING: Variants = {
    "one label each": _labels(1),
    "with failed edits": _labels(2, 0.4),
    "terms one by one": _terms_one_by_one,
    "words of the reference": _towards_reference(),
    "three attempts": _towards_reference(2, 1),
}

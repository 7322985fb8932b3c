"""Stuffed terms and searches for the score, and honest texts with terms and honest revisions."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from aex_models.governance import Severity
from tests.benchmarks.fraud.stories import Attempt, Scene, Variants, mislabel
from tests.benchmarks.fraud.writing import replace_words, swap_sentences


def _draw_apart(scene: Scene, count: int, sentences: int) -> tuple[str, list[str], list[str]]:
    """Return a blank, terms of one topic, and sentences on another one without them."""
    writer = scene.writer()
    topic, other = scene.random.sample(sorted(writer.bank.topics), 2)
    terms = writer.terms(topic, count)
    texts = [each for each in writer.sentences(sentences, other) if not any(t.lower() in each.lower() for t in terms)]
    return writer.bank.blank, terms, texts


def _stuffed(arrange: Callable[[Random, list[str], str], str], scene: Scene) -> list[Attempt]:
    blank, terms, sentences = _draw_apart(scene, scene.random.randint(4, 12), 40)
    body = blank.join(sentences[: scene.random.randint(2, 18)])
    output = scene.shape(arrange(scene.random, terms, body))
    return scene.single(Severity.MAJOR, output, scene.term_work(terms))


def _dump(random: Random, terms: Sequence[str]) -> str:
    head = random.choice(("Keywords: ", "Tags: ", "Stichworte: ", "关键词：", ""))
    return head + random.choice([", ", " ", "; ", " · ", " | "]).join(random.sample(list(terms), len(terms)))


def _bullets(random: Random, terms: list[str], body: str) -> str:
    mark = random.choice(["- ", "• ", "1. ", "#"])
    return f"{body}\n\n" + "\n".join(mark + term for term in terms)


def _salad(random: Random, terms: list[str], _: str) -> str:
    return random.choice([" ", ", "]).join([*random.choices(terms, k=random.randint(20, 200)), *terms])


STUFFING: Variants = {
    "dump behind": partial(_stuffed, lambda random, terms, body: f"{body}\n\n{_dump(random, terms)}"),
    "dump in front": partial(_stuffed, lambda random, terms, body: f"{_dump(random, terms)}\n\n{body}"),
    "bullets": partial(_stuffed, _bullets),
    "salad": partial(_stuffed, _salad),
}


def _required_terms(
    most: int, arrange: Callable[[list[str], list[str]], str], more: int, scene: Scene
) -> list[Attempt]:
    writer = scene.writer()
    topic = writer.topic()
    terms = writer.terms(topic, scene.random.randint(3, most))
    sentences = writer.sentences(len(terms) + scene.random.randint(0, more), topic, terms)
    return scene.single(None, scene.shape(arrange(terms, sentences)), scene.term_work(terms))


def _headings(terms: list[str], sentences: list[str]) -> str:
    return "\n\n".join(f"## {term}\n{text}" for term, text in zip(terms, sentences, strict=True))


REQUIRED_TERMS: Variants = {
    "prose": partial(_required_terms, 12, lambda _, sentences: " ".join(sentences), 20),
    "bullets": partial(_required_terms, 10, lambda _, sentences: "\n".join(f"- {each}" for each in sentences), 3),
    "headings": partial(_required_terms, 7, _headings, 0),
}


def _labels(most: int, scene: Scene) -> list[Attempt]:
    work, truth = scene.label_work(scene.random.randint(40, 200))
    current = mislabel(scene.random, truth, 0.6)
    outputs = [{"predictions": list(current)}]
    for _ in range(scene.random.randint(3, 8)):
        wrong = [index for index, label in enumerate(current) if label != truth[index]]
        for index in scene.random.sample(wrong, min(most, len(wrong))):
            current[index] = truth[index]
        outputs.append({"predictions": list(current)})
    return scene.single(Severity.MAJOR, outputs[-1], work, earlier=outputs[:-1])


def _terms_one_by_one(scene: Scene) -> list[Attempt]:
    count = scene.random.randint(3, 8)
    blank, terms, sentences = _draw_apart(scene, count + 3, 60)
    base = blank.join(sentences[: scene.random.randint(10, 30)])
    outputs = [{"text": base + blank.join(["", *terms[:known]])} for known in range(1, count + 2)]
    return scene.single(Severity.MAJOR, outputs[-1], scene.term_work(terms), earlier=outputs[:-1])


def _towards_reference(steps: Sequence[int], most: int, scene: Scene) -> list[Attempt]:
    writer = scene.writer("en", "de", "fr", "es")
    reference = writer.text(max(scene.length(), 120))
    target = reference.split()
    words = replace_words(reference, writer, scene.random, 0.5).split()[: len(target)]
    words += target[len(words) :]
    outputs = [{"text": " ".join(words)}]
    for _ in range(scene.random.choice(steps)):
        wrong = [index for index, word in enumerate(words) if word != target[index]]
        for index in scene.random.sample(wrong, min(scene.random.randint(1, most), len(wrong))):
            words[index] = target[index]
        outputs.append({"text": " ".join(words)})
    work = scene.work(metrics=("rougeL",), evaluation={"reference": reference})
    return scene.single(Severity.MAJOR, outputs[-1], work, earlier=outputs[:-1])


PROBING: Variants = {
    "one label each": partial(_labels, 1),
    "two labels each": partial(_labels, 2),
    "terms one by one": _terms_one_by_one,
    "words of the reference": partial(_towards_reference, range(3, 9), 3),
    "three attempts": partial(_towards_reference, [2], 1),
}


def _missing_term(scene: Scene) -> list[Attempt]:
    writer = scene.writer()
    topic = writer.topic()
    terms = writer.terms(topic, 4)
    sentences = writer.sentences(max(scene.length() // 13, 6), topic, terms)
    outputs = [{"text": writer.join(part)} for part in (sentences[1:], sentences)]
    return scene.single(None, outputs[-1], scene.term_work(terms), earlier=outputs[:-1])


def _rewritten(scene: Scene) -> list[Attempt]:
    writer = scene.writer()
    reference = writer.text(max(scene.length(), 120))
    work = scene.work(metrics=("rougeL",), evaluation={"reference": reference})
    texts = [replace_words(reference, writer, scene.random, share) for share in (0.75, 0.65, 0.5, 0.4)]
    outputs = [{"text": swap_sentences(each, writer, scene.random)} for each in texts]
    return scene.single(None, outputs[-1], work, earlier=outputs[:-1])


def _better_labels(scene: Scene) -> list[Attempt]:
    work, truth = scene.label_work(scene.random.randint(10, 150))
    outputs = [{"predictions": mislabel(scene.random, truth, share)} for share in (0.6, 0.3, 0.1)]
    return scene.single(None, outputs[-1], work, earlier=outputs[:-1])


REVISIONS: Variants = {"missing term": _missing_term, "rewritten": _rewritten, "better labels": _better_labels}

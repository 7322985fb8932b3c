"""Honest texts: prose, quotations, required terms, near references, short answers, revisions."""

from collections.abc import Callable, Sequence
from typing import Any

from tests.benchmarks.fraud.stories import Attempt, Make, Scene, Variants, Work, mislabel
from tests.benchmarks.fraud.writing import LANGUAGES, Writer, replace_words, swap_sentences


def _prose(code: str) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        writer = scene.writer(code)
        topic = writer.topic()
        return scene.honest(scene.shape(writer.text(scene.length(), topic)), scene.text_work(writer, topic))

    return make


def _marked(change: Callable[[Scene, list[str]], str], *codes: str) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        sentences = scene.writer(*codes).sentences(max(scene.length() // 13, 4))
        return scene.honest(scene.shape(change(scene, sentences)))

    return make


def _right_to_left(scene: Scene, sentences: list[str]) -> str:
    wraps = ("\u200f({})\u200f", "\u2066{}\u2069", "\u200e{}\u200e", "\u2068{}\u2069", "\u202a{}\u202c")
    wrap = scene.random.choice(wraps)
    return " ".join(f"{each} {wrap.format('שלום עולם')}" for each in sentences)


PROSE: Variants = {**{code: _prose(code) for code in LANGUAGES}, "right to left": _marked(_right_to_left, "en")}


def _quotation(scene: Scene, writer: Writer, quoted: str, minutes: float) -> Attempt:
    """Return a text of which the quotation is at most a third."""
    size = len(quoted) / scene.random.uniform(0.08, 0.33) - len(quoted)
    topic = writer.topic()
    own: list[str] = []
    while sum(map(len, own)) < size:
        own += writer.sentences(6, topic)
    opening, closing = scene.random.choice((("“", "”"), ("„", "“"), ("« ", " »"), ('"', '"'), ("> ", "")))
    at = scene.random.randint(0, len(own))
    text = "\n\n".join(filter(None, [writer.join(own[:at]), opening + quoted + closing, writer.join(own[at:])]))
    work = scene.text_work(writer, topic, f"-{minutes:.0f}")
    label = scene.honest_label if minutes else None
    return scene.candidate(scene.agent(), work, scene.shape(text), minutes=minutes, label=label)


def _common_source(scene: Scene) -> Sequence[Attempt]:
    writer = scene.writer()
    quoted = writer.text(scene.random.randint(40, 120))
    return [_quotation(scene, writer, quoted, minutes) for minutes in (0.0, 500.0)]


QUOTATIONS: Variants = {"common source": _common_source}


def _terms(least: int, most: int, arrange: Callable[[Scene, list[str], list[str]], str], more: int = 0) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        writer = scene.writer()
        topic = writer.topic()
        terms = writer.terms(topic, scene.random.randint(least, most))
        sentences = writer.sentences(len(terms) + scene.random.randint(0, more), topic, terms)
        return scene.honest(scene.shape(arrange(scene, terms, sentences)), scene.term_work(terms))

    return make


REQUIRED_TERMS: Variants = {
    "prose": _terms(3, 12, lambda scene, _, sentences: scene.writer().join(sentences), 20),
    "bullets": _terms(3, 10, lambda _scene, _, sentences: "\n".join(f"- {each}" for each in sentences), 3),
    "headings": _terms(
        3, 7, lambda _, terms, texts: "\n\n".join(f"## {a}\n{b}" for a, b in zip(terms, texts, strict=True))
    ),
}


def _answer(scene: Scene, reference: str, text: str) -> Sequence[Attempt]:
    work = scene.work(metrics=("rougeL", "bleu_score"), evaluation={"reference": reference})
    return scene.honest(scene.shape(text), work)


def _other_words(scene: Scene) -> Sequence[Attempt]:
    writer = scene.writer()
    reference = writer.text(scene.length())
    return _answer(scene, reference, replace_words(reference, writer, scene.random, scene.random.uniform(0.25, 0.5)))


def _common_sentences(scene: Scene) -> Sequence[Attempt]:
    writer = scene.writer()
    topic = writer.topic()
    common, others, own = (writer.sentences(count, topic) for count in (4, 10, 10))
    return _answer(scene, writer.join(common + others), writer.join(own[:5] + common + own[5:]))


NEAR_REFERENCES: Variants = {"other words": _other_words, "common sentences": _common_sentences}


def _equal_answers(draw: Callable[[Scene], str]) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        output = scene.shape(draw(scene))
        made = [scene.candidate(scene.agent(), scene.work(tag=f"-{n}"), output, minutes=9.0 * n) for n in range(2)]
        return [
            *made,
            scene.candidate(scene.agent(), scene.work(tag="-2"), output, minutes=30, label=scene.honest_label),
        ]

    return make


_STOCK = (
    "The capital of France is Paris.",
    "Yes.",
    "42",
    "Las dos afirmaciones son falsas.",
    "Ответ: 17 км.",
    "是",
    "H2O",
)
SHORT_ANSWERS: Variants = {
    "stock": _equal_answers(lambda scene: scene.random.choice(_STOCK)),
    "sentence": _equal_answers(lambda scene: scene.writer().sentences(1)[0]),
}


def _repetition(*, is_retry: bool = False) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        writer, agent, consumer = scene.writer(), scene.agent(), scene.consumer()
        topic, text = writer.topic(), writer.text(scene.length())
        works = [scene.text_work(writer, topic, tag, consumer) for tag in ("", "" if is_retry else "-2")]
        label = scene.honest_label
        return [
            scene.candidate(agent, works[0], {"text": text}),
            scene.candidate(agent, works[1], {"text": text}, minutes=900.0, is_retry=is_retry, label=label),
        ]

    return make


REPETITIONS: Variants = {"same consumer": _repetition(), "retry": _repetition(is_retry=True)}


def _revision(scene: Scene, work: Work, outputs: Sequence[Any]) -> Sequence[Attempt]:
    return scene.honest(outputs[-1], work, earlier=outputs[:-1])


def _missing_term(scene: Scene) -> Sequence[Attempt]:
    writer = scene.writer()
    topic = writer.topic()
    terms = writer.terms(topic, 4)
    sentences = writer.sentences(max(scene.length() // 13, 6), topic, terms)
    return _revision(
        scene, scene.term_work(terms), [{"text": writer.join(part)} for part in (sentences[1:], sentences)]
    )


def _rewritten(scene: Scene) -> Sequence[Attempt]:
    writer = scene.writer()
    reference = writer.text(max(scene.length(), 120))
    work = scene.work(metrics=("rougeL",), evaluation={"reference": reference})
    texts = [replace_words(reference, writer, scene.random, share) for share in (0.75, 0.65, 0.5, 0.4)]
    return _revision(scene, work, [{"text": swap_sentences(each, writer, scene.random)} for each in texts])


def _better_labels(scene: Scene) -> Sequence[Attempt]:
    work, truth = scene.label_work(scene.random.randint(10, 150))
    return _revision(scene, work, [{"predictions": mislabel(scene.random, truth, share)} for share in (0.6, 0.3, 0.1)])


REVISIONS: Variants = {"missing term": _missing_term, "rewritten": _rewritten, "better labels": _better_labels}

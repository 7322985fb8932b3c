"""Copies of outputs and references, and honest texts that resemble them."""

from collections.abc import Callable
from functools import partial

from aex_models.governance import Party, Severity
from tests.benchmarks.fraud.stories import Attempt, Scene, Variants
from tests.benchmarks.fraud.writing import EDITS, LANGUAGES, PASSAGES, Edit, Writer, replace_words, repunctuate

_DAY = 24 * 60


def _copies(last_wait: float, scene: Scene) -> list[Attempt]:
    writer = scene.writer()
    topic = writer.topic()
    output, wait = scene.shape(writer.text(scene.length(), topic)), scene.random.uniform(0, last_wait)
    original = scene.candidate(scene.agent(), scene.text_work(writer, topic), output)
    work, label = scene.text_work(writer, topic, "-copy"), scene.label(Severity.CRITICAL)
    return [original, scene.candidate(scene.new_agent(), work, output, minutes=wait, label=label)]


def _sold_twice(scene: Scene) -> list[Attempt]:
    writer, agent = scene.writer(), scene.new_agent()
    output = scene.shape(writer.text(scene.length()))
    buyers = [Party(id=f"buyer{index}-{scene.key.replace('/', '-')}") for index in range(2)]
    works = [scene.text_work(writer, writer.topic(), f"-{index}", buyer) for index, buyer in enumerate(buyers)]
    return [
        scene.candidate(agent, works[0], output),
        scene.candidate(agent, works[1], output, minutes=60.0, label=scene.label(Severity.MINOR)),
    ]


DUPLICATE: Variants = {
    "at once": partial(_copies, 5.0),
    "later": partial(_copies, 60.0 * _DAY),
    "sold twice": _sold_twice,
}


def _near_copy(edit: Edit, scene: Scene) -> list[Attempt]:
    writer = scene.writer()
    topic = writer.topic()
    text = writer.text(scene.length(), topic)
    copy, wait = scene.shape(edit(text, writer, scene.random)), scene.random.uniform(1, 45 * _DAY)
    original = scene.candidate(scene.agent(), scene.text_work(writer, topic), scene.shape(text))
    work, label = scene.text_work(writer, topic, "-copy"), scene.label(Severity.MAJOR)
    return [original, scene.candidate(scene.new_agent(), work, copy, minutes=wait, label=label)]


NEAR_DUPLICATE: Variants = {edit.__name__.replace("_", " "): partial(_near_copy, edit) for edit in EDITS}


def _reference(edit: Edit, references: int, scene: Scene) -> list[Attempt]:
    writer = scene.writer()
    topic, length = writer.topic(), scene.length()
    texts = [writer.text(length, topic) for _ in range(references)]
    metrics = scene.random.choice([("rougeL",), ("bleu_score", "rougeL"), ()])
    work = scene.work(metrics=metrics, evaluation={"reference": texts if references > 1 else texts[0]})
    return scene.single(Severity.CRITICAL, scene.shape(edit(scene.random.choice(texts), writer, scene.random)), work)


REFERENCE_COPY: Variants = {
    "equal": partial(_reference, lambda text, *_: text, 1),
    "one of several": partial(_reference, lambda text, *_: text, 3),
    "few words replaced": partial(_reference, partial(replace_words, share=0.03), 1),
    "other punctuation": partial(_reference, repunctuate, 1),
}


def _near_reference(draw: Callable[[Scene, Writer], tuple[str, str]], scene: Scene) -> list[Attempt]:
    reference, text = draw(scene, scene.writer())
    work = scene.work(metrics=("rougeL", "bleu_score"), evaluation={"reference": reference})
    return scene.single(None, scene.shape(text), work)


def _other_words(scene: Scene, writer: Writer) -> tuple[str, str]:
    reference = writer.text(scene.length())
    return reference, replace_words(reference, writer, scene.random, scene.random.uniform(0.25, 0.5))


def _common_sentences(_: Scene, writer: Writer) -> tuple[str, str]:
    topic = writer.topic()
    common, others, own = (writer.sentences(count, topic) for count in (4, 10, 10))
    return writer.join(common + others), writer.join(own[:5] + common + own[5:])


NEAR_REFERENCES: Variants = {
    "other words": partial(_near_reference, _other_words),
    "common sentences": partial(_near_reference, _common_sentences),
}


def _prose(code: str, scene: Scene) -> list[Attempt]:
    writer = scene.writer(code)
    topic = writer.topic()
    return scene.single(None, scene.shape(writer.text(scene.length(), topic)), scene.text_work(writer, topic))


def _right_to_left(scene: Scene) -> list[Attempt]:
    sentences = scene.writer("en").sentences(max(scene.length() // 13, 4))
    wraps = ("\u200f({})\u200f", "\u2066{}\u2069", "\u200e{}\u200e", "\u2068{}\u2069", "\u202a{}\u202c")
    name = scene.random.choice(wraps).format("שלום עולם")
    return scene.single(None, scene.shape(" ".join(f"{each} {name}" for each in sentences)))


PROSE: Variants = {**{code: partial(_prose, code) for code in LANGUAGES}, "right to left": _right_to_left}


def _common_source(scene: Scene) -> list[Attempt]:
    """Make two texts, at most a third of each of them the same quotation."""
    writer, made = scene.writer(), list[Attempt]()
    quoted = writer.text(scene.random.randint(40, 120))
    for index in range(2):
        size, topic = len(quoted) / scene.random.uniform(0.08, 0.33) - len(quoted), writer.topic()
        own: list[str] = []
        while sum(map(len, own)) < size:
            own += writer.sentences(6, topic)
        opening, closing = scene.random.choice((("“", "”"), ("„", "“"), ("« ", " »"), ('"', '"'), ("> ", "")))
        at = scene.random.randint(0, len(own))
        parts = [writer.join(own[:at]), opening + quoted + closing, writer.join(own[at:])]
        work, output = scene.text_work(writer, topic, f"-{index}"), scene.shape("\n\n".join(filter(None, parts)))
        label = scene.label() if index else None
        made.append(scene.candidate(scene.agent(), work, output, minutes=index * 500.0, label=label))
    return made


QUOTATIONS: Variants = {"common source": _common_source}


def _equal_answers(draw: Callable[[Scene], str], scene: Scene) -> list[Attempt]:
    output, labels = scene.shape(draw(scene)), (None, None, scene.label())
    return [
        scene.candidate(scene.agent(), scene.work(tag=f"-{n}"), output, minutes=15.0 * n, label=label)
        for n, label in enumerate(labels)
    ]


SHORT_ANSWERS: Variants = {
    "stock": partial(_equal_answers, lambda scene: scene.random.choice(PASSAGES["answers"])),
    "sentence": partial(_equal_answers, lambda scene: scene.writer().sentences(1)[0]),
}


def _repetition(is_retry: bool, scene: Scene) -> list[Attempt]:
    writer, agent, consumer = scene.writer(), scene.agent(), scene.consumer()
    topic, text = writer.topic(), writer.text(scene.length())
    works = [scene.text_work(writer, topic, tag, consumer) for tag in ("", "" if is_retry else "-2")]
    return [
        scene.candidate(agent, works[0], {"text": text}),
        scene.candidate(agent, works[1], {"text": text}, minutes=900.0, is_retry=is_retry, label=scene.label()),
    ]


REPETITIONS: Variants = {"same consumer": partial(_repetition, False), "retry": partial(_repetition, True)}

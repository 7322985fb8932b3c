"""Work as it is given and done honestly: the plain cases that stories vary."""

from random import Random
from typing import Any

from aex_models.governance import Party
from tests.benchmarks.fraud.language import Writer
from tests.benchmarks.fraud.scene import ANSWERS, CODE, EXTRACTION, NUMBERS, SUMMARIES, TRANSLATIONS, TRIAGE, Scene
from tests.benchmarks.fraud.story import Attempt, Work

LABELS = (
    ("billing", "technical", "complaint", "praise"),
    ("spam", "ham"),
    ("positiv", "negativ", "neutral"),
    ("oui", "non"),
    ("низкий", "средний", "высокий"),
    ("体育", "财经", "文化", "科技"),
    ("عاجل", "عادي"),
    ("0", "1", "2", "3", "4"),
)
_FUNCTIONS = ("parse", "merge", "count", "split", "index", "filter", "rank", "round", "pack", "trace")
_THINGS = ("orders", "rows", "events", "prices", "paths", "tokens", "edges", "frames", "users", "slots")


def shaped(random: Random, text: str) -> Any:
    """A text as agents post it: at `/text`, with fields beside it, or bare."""
    return random.choice([{"text": text}, {"text": text, "title": text[:24]}, text])


def prose_work(scene: Scene, writer: Writer, topic: str, words: int, tag: str = "", who: Party | None = None) -> Work:
    """A text is wanted, and measured against a hidden reference on the same topic."""
    domain = scene.random.choice([SUMMARIES, SUMMARIES, TRANSLATIONS, ANSWERS])
    metrics = scene.random.choice([("rougeL",), ("rougeL", "bleu_score"), ("word_count",)])
    return scene.work(domain, metrics, {"reference": writer.text(words, topic)}, who, tag)


def prose(scene: Scene, agent: Party, writer: Writer, words: int, tag: str = "", **more: Any) -> Attempt:
    """Somebody's own text."""
    topic = writer.topic()
    text = writer.text(words, topic)
    return scene.candidate(agent, prose_work(scene, writer, topic, words, tag), shaped(scene.random, text), **more)


def labels_work(scene: Scene, count: int, tag: str = "", who: Party | None = None) -> tuple[Work, list[str]]:
    """Cases to put into classes, and their true classes."""
    classes = scene.random.choice(LABELS)
    truth = scene.random.choices(classes, k=count)
    metrics = scene.random.choice([("accuracy",), ("accuracy", "f1_score"), ("f1_score",)])
    return scene.work(TRIAGE, metrics, {"ground_truth": truth}, who, tag), truth


def some_wrong(random: Random, truth: list[str], share: float) -> list[str]:
    """The labels, of which about this share is another one."""
    classes = sorted(set(truth))
    return [random.choice(classes) if random.random() < share else each for each in truth]


def keyword_work(scene: Scene, terms: list[str], tag: str = "") -> Work:
    """A text that has to name these terms."""
    domain = scene.random.choice([SUMMARIES, ANSWERS, EXTRACTION])
    return scene.work(domain, ("contains_keywords",), {"required_keywords": terms}, tag=tag)


def without(terms: list[str], sentences: list[str]) -> list[str]:
    """The sentences that have none of the terms."""
    return [each for each in sentences if not any(term.lower() in each.lower() for term in terms)]


def code(random: Random) -> str:
    """A small program, one of many."""
    name, things = random.choice(_FUNCTIONS), random.sample(_THINGS, 3)
    one, limit = things[0][:-1], random.randint(2, 900)
    bodies = [
        f"    {things[1]} = {{}}\n    for {one} in {things[0]}:\n        key = {one}[{limit % 7}]\n"
        f"        {things[1]}[key] = {things[1]}.get(key, 0) + 1\n    return {things[1]}\n",
        f"    found = [{one} for {one} in {things[0]} if {one}.{things[2][:-1]} > {limit}]\n"
        f"    found.sort(key=lambda {one}: {one}.{things[1][:-1]}, reverse={bool(limit % 2)})\n    return found\n",
        f"    left, right = 0, len({things[0]}) - 1\n    while left < right:\n"
        f"        middle = (left + right) // {limit % 5 + 2}\n        if {things[0]}[middle] < {things[1]}:\n"
        f"            left = middle + 1\n        else:\n            right = middle\n    return left\n",
        f"    if not {things[0]}:\n        raise ValueError('{name}: no {things[0]}')\n"
        f"    total = sum(each.{things[1][:-1]} for each in {things[0]})\n    return round(total / {limit}, 2)\n",
    ]
    head = f"def {name}_{things[0]}({things[0]}, {things[1]}=None):\n"
    return "\n\n".join(
        head.replace(name, f"{name}{n or ''}") + random.choice(bodies) for n in range(random.randint(1, 3))
    )


def code_work(scene: Scene, tag: str = "") -> Work:
    """A program is wanted."""
    return scene.work(CODE, ("word_count",), tag=tag)


def figure_work(scene: Scene, value: float, tag: str = "") -> Work:
    """A figure is wanted, and told in a sentence or alone."""
    return scene.work(NUMBERS, ("contains_keywords",), {"required_keywords": [f"{value:g}"]}, tag=tag)

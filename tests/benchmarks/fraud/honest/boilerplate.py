"""Texts with the opening, the headings and the closing that everybody's have."""

from collections.abc import Mapping, Sequence

from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import prose_work, shaped

_OPENINGS = (
    "Thank you for the opportunity to work on this task. I have read the material carefully, and what follows is a "
    "summary of the main points in my own words, with the most important ones first.",
    "Sehr geehrte Damen und Herren, vielen Dank für Ihren Auftrag. Im Folgenden finden Sie die gewünschte "
    "Zusammenfassung; für Rückfragen stehe ich Ihnen jederzeit gern zur Verfügung.",
    "As an AI language model I do not have access to live data, but based on the documents that you have provided I "
    "can give you the following overview.",
    "Bonjour, veuillez trouver ci-dessous le résumé demandé. Il reprend les points essentiels du document.",
)
_CLOSING = (
    "This document is provided for information only and does not constitute legal, financial or medical advice. "
    "No liability is accepted for errors or omissions. All rights reserved."
)
_HEADINGS = ("1. Introduction", "2. Background", "3. Findings", "4. Conclusion")


def _text(scene: Scene, front: str = "", back: str = "", headings: Sequence[str] = ()) -> Sequence[Attempt]:
    """With at least three times as much of one's own."""
    writer = scene.writer()
    topic, boilerplate = writer.topic(), len(front) + len(back)
    own = [writer.text(max(scene.words(), boilerplate // 2), topic)]
    if headings:
        own = [f"{heading}\n\n{writer.text(60, topic)}" for heading in headings]
    text = "\n\n".join(filter(None, [front, *own, back]))
    work = prose_work(scene, writer, topic, 100)
    return [scene.candidate(scene.agent(), work, shaped(scene.random, text), label=scene.honest)]


def _opening(scene: Scene) -> Sequence[Attempt]:
    return _text(scene, front=scene.random.choice(_OPENINGS))


def _closing(scene: Scene) -> Sequence[Attempt]:
    return _text(scene, back=_CLOSING)


def _both(scene: Scene) -> Sequence[Attempt]:
    return _text(scene, scene.random.choice(_OPENINGS), _CLOSING)


def _form(scene: Scene) -> Sequence[Attempt]:
    return _text(scene, headings=_HEADINGS)


VARIANTS: Mapping[str, Make] = {"opening": _opening, "closing": _closing, "both": _both, "form": _form}

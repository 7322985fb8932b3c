"""The demo's texts, as files.

`darwin.txt`: Charles Darwin, On the Origin of Species (1859), chapter III, two paragraphs; in the public domain.
`reference.txt`: a summary of it, written for the demo: the consumer's evaluation data.
"""

from importlib.resources import files


def text(name: str) -> str:
    """The text of one file, without the line break at its end."""
    return files(__name__).joinpath(name).read_text("utf-8").strip()

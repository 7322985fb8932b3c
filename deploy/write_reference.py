"""Generator of `reference.md` from models, settings and catalogue: `python -m deploy.write_reference`."""

from pathlib import Path

from deploy.reference.files import list_files
from deploy.reference.grading import list_grading
from deploy.reference.measures import list_measures
from deploy.reference.variables import list_variables

FILE = Path(__file__).with_name("reference.md")
_HEAD = """\
# Reference
Written by `make reference` from the code; edit the descriptions there. A dash is for no default, no unit, or no bound.
"""


def build_file_text() -> str:
    """Return the text of `reference.md`. Raises `DescriptionMissing` with the name that lacks one."""
    sections = [*list_grading(), *list_files(), *list_variables(), *list_measures()]
    links = "".join(f"- [{each.title}](#{_anchor(each.title)})\n" for each in sections)
    return "\n".join([_HEAD, links, *(each.markdown() for each in sections)])


def _anchor(title: str) -> str:
    return "".join(each for each in title.lower().replace(" ", "-") if each.isalnum() or each in "-_")


if __name__ == "__main__":
    FILE.write_text(build_file_text(), encoding="utf-8")

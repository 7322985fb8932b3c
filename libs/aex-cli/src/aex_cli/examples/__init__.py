"""Works of the demo as files, which also suit `aex lint` and `aex verify`.

`summary/`: criteria, work, the first draft, its revision, and the agent's metadata. The text is in the public domain:
Charles Darwin, On the Origin of Species (1859), chapter III, two paragraphs.
`digits/`: criteria, work and a classifier's labels for 150 handwritten digits (UCI, 1998, from scikit-learn).
`durations/`: criteria, work with hidden tests, a wrong program and a right one.
"""

from pathlib import Path

from aex_cli.offline.documents import read_document
from aex_models.work import WorkSubmission

FOLDER = Path(__file__).parent


def read_example_work(folder_name: str) -> WorkSubmission:
    """Read the work and the criteria of an example folder, such as `summary`, as one submission."""
    work, criteria = (
        read_document("--work", str(FOLDER / folder_name / file)) for file in ("work.json", "criteria.yaml")
    )
    return WorkSubmission.model_validate({**work.value, "success_criteria": criteria.value})

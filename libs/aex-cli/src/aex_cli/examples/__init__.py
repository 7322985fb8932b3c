"""The demo's first two works as files, also for `aex lint` and `aex verify`.

`summary/`: criteria, work, the first draft, its revision, and the agent's metadata. Its text is in the public domain:
Charles Darwin, On the Origin of Species (1859), chapter III, two paragraphs.
`digits/`: the same for 150 handwritten digits (UCI, 1998, from scikit-learn) and a classifier's labels.
"""

from pathlib import Path

from aex_cli.offline.documents import read_document
from aex_models.work import WorkSubmission

FOLDER = Path(__file__).parent


def read_example_work(folder_name: str) -> WorkSubmission:
    """Return the submission of a folder's work with its criteria."""
    work, criteria = (
        read_document("--work", str(FOLDER / folder_name / file)) for file in ("work.json", "criteria.yaml")
    )
    return WorkSubmission.model_validate({**work.value, "success_criteria": criteria.value})

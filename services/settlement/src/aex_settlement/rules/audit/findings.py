"""What an audit of the ledger finds: findings with stable codes, and the seal that was known before. Pure."""

import re
from dataclasses import dataclass, field

from aex_models.frozen import Frozen, Sha256, StrictInt

SHOWN = 100
"""How many findings are kept; all are counted."""
_SEAL = re.compile(r"([1-9][0-9]{0,11}):([0-9a-f]{64})", re.ASCII)


class Seal(Frozen):
    """A batch of the journal and its hash: whoever knows it can tell whether the journal before it was rewritten."""

    seq: StrictInt
    hash: Sha256

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


def parse_seal(text: str) -> Seal | None:
    """`12:9f86d0…` as a seal; None for anything else."""
    match = _SEAL.fullmatch(text.strip())
    return Seal(seq=int(match[1]), hash=match[2]) if match else None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: what kind of thing, with which record, and how."""

    code: str
    subject: str
    detail: str


@dataclass(slots=True)
class Findings:
    """What was found so far: the first `SHOWN` by name, all of them counted."""

    shown: list[Finding] = field(default_factory=list)
    total: int = 0
    first_broken_link: int | None = None
    """The number of the first batch at which the chain does not hold."""

    def add(self, code: str, subject: str, detail: str) -> None:
        """Count a finding, and keep it while there is room."""
        self.total += 1
        if len(self.shown) < SHOWN:
            self.shown.append(Finding(code, subject, detail))

    def broken_link(self, seq: int, code: str, detail: str) -> None:
        """A finding about a batch."""
        if self.first_broken_link is None:
            self.first_broken_link = seq
        self.add(code, f"batch {seq}", detail)

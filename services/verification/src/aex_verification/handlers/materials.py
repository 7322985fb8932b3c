"""What an attempt is made under, and what was delivered in it."""

from dataclasses import dataclass

from aex_models.contract import Candidate
from aex_models.events import ContractAwarded
from aex_runtime.store.keys import key_of
from aex_runtime.store.table import Reader
from aex_verification.repository import AWARDS, CANDIDATES
from aex_verification.rules.records import AttemptRow


@dataclass(frozen=True, slots=True)
class Materials:
    """Both are written once: whoever has read them need not read them again."""

    awarded: ContractAwarded
    candidate: Candidate


async def read_materials(reader: Reader, attempt: AttemptRow) -> Materials:
    """The attempt's award and its candidate. Raises `LookupError` for records that were written and are gone."""
    awarded = await AWARDS.get(reader, key_of(attempt.contract_id))
    candidate = await CANDIDATES.get(reader, attempt.candidate_key)
    if awarded is None or candidate is None:
        raise LookupError(f"{attempt.attempt_id} has no award or no candidate")
    return Materials(awarded.record, candidate.record)

"""What is shown of settlements, held against what is booked."""

from collections.abc import Sequence

from aex_models.settlement import LedgerTransaction, Settlement
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Document, Store
from aex_settlement.handlers.audit.ahead import ahead
from aex_settlement.handlers.audit.sealed import Missing, Sealed, each_sealed
from aex_settlement.handlers.audit.walk import Progress, Walk
from aex_settlement.repository.audited import (
    all_settlements,
    decoded,
    id_at,
    is_found_by,
    settlement_documents,
    transaction_documents,
)
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.settlements import SETTLEMENTS
from aex_settlement.rules.audit.findings import Findings
from aex_settlement.rules.audit.settlements import Claim, claim_of, claims_of, differing_fields, settlement_problems


async def check_settlements(store: Store, findings: Findings, walk: Walk, progress: Progress) -> int:
    """Every settlement's record agrees with the ledger, and every booked contract has its record. How many there are.

    The walk must not go on meanwhile: all that it met is older than the records, which only ever gain revisions.
    """
    count = matched = 0
    async for page in ahead(all_settlements(store)):
        count += len(page)
        claims: list[Claim] = []
        for document in page:
            settlement = _checked(findings, document)
            if settlement is not None:
                claims += claims_of(settlement)
        unmet = [claim for claim in claims if claim.text() not in walk.claims]
        matched += len(claims) - len(unmet)
        await _check_unmet(store, findings, unmet)
        progress("settlements", count, max(count, walk.claims.count))
    if matched != walk.claims.count:
        await _name_unclaimed(store, findings, walk.link.seq)
    return count


def _checked(findings: Findings, document: Document) -> Settlement | None:
    settlement = decoded(SETTLEMENTS, document)
    if settlement is None:
        findings.add("settlement_wrong", id_at(document.key), "what is stored is no settlement that adds up")
        return None
    subject = settlement.contract_id
    if document.key != key_of(subject):
        findings.add("settlement_added", subject, f"stored a second time, under {document.key}")
        return None
    if not is_found_by(SETTLEMENTS, document, settlement):
        findings.add("settlement_wrong", subject, "its index fields are not its contents: it is listed wrongly")
    for problem in settlement_problems(settlement):
        findings.add("settlement_wrong", subject, problem)
    return settlement


async def _check_unmet(store: Store, findings: Findings, claims: Sequence[Claim]) -> None:
    """What the walk did not meet was booked since, or never, or otherwise."""
    documents = await transaction_documents(store, [claim.transaction_id for claim in claims])
    for claim, document in zip(claims, documents, strict=True):
        transaction = None if document is None else decoded(TRANSACTIONS, document)
        booked = None if transaction is None else claim_of(transaction)
        if booked is None:
            detail = f"says that {claim.transaction_id} is booked, which the ledger does not have"
            findings.add("settlement_differs", claim.contract_id, detail)
        elif booked != claim:
            detail = f"{differing_fields(claim, booked)} is not as booked by {claim.transaction_id}"
            findings.add("settlement_differs", claim.contract_id, detail)


async def _name_unclaimed(store: Store, findings: Findings, last: int) -> None:
    """Name what is booked and in no record; a second pass over the journal."""
    told = {each.subject for each in findings.shown}
    async for group in each_sealed(store, 1, last):
        booked = _booked(group)
        records = await settlement_documents(store, [each.contract_id or "" for each in booked])
        for transaction, document in zip(booked, records, strict=True):
            contract_id = transaction.contract_id or ""
            if contract_id not in told and (problem := _unclaimed(transaction, document)):
                findings.add(*problem)
                told.add(contract_id)


def _unclaimed(transaction: LedgerTransaction, document: Document | None) -> tuple[str, str, str] | None:
    contract_id = transaction.contract_id or ""
    record = None if document is None else decoded(SETTLEMENTS, document)
    if document is None or record is None:
        return "settlement_missing", contract_id, f"booked by {transaction.id}; its settlement is missing"
    if claim_of(transaction) not in tuple(claims_of(record)):
        return "settlement_differs", contract_id, f"its settlement does not have what {transaction.id} books"
    if not is_found_by(SETTLEMENTS, document, record):
        return "settlement_wrong", contract_id, "its index fields are not its contents: it is not listed"
    return None


def _booked(group: Sequence[Sealed | Missing]) -> list[LedgerTransaction]:
    documents = [each for sealed in group if isinstance(sealed, Sealed) for each in sealed.documents]
    transactions = [decoded(TRANSACTIONS, document) for document in documents if document is not None]
    return [each for each in transactions if each is not None and claim_of(each) is not None]

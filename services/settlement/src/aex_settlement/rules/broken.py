"""What is wrong with a journal that cannot be gone on with."""


class BrokenJournal(Exception):
    """A batch, or a transaction that it seals, is missing or is not what was sealed. `reason` names ids and numbers."""

    def __init__(self, seq: int, reason: str, transaction_id: str | None = None) -> None:
        super().__init__(f"batch {seq}: {reason}")
        self.seq = seq
        self.reason = reason
        self.transaction_id = transaction_id

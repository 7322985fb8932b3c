"""What is wrong with records that cannot be gone on with."""


class Broken(Exception):
    """The books cannot be gone on with before somebody has looked at them."""


class BrokenJournal(Broken):
    """A batch, or a transaction that it seals, is missing or is not what was sealed. `reason` names ids and numbers."""

    def __init__(self, seq: int, reason: str, transaction_id: str | None = None) -> None:
        super().__init__(f"batch {seq}: {reason}")
        self.seq = seq
        self.reason = reason
        self.transaction_id = transaction_id


class UnreadableRecord(Broken):
    """A stored record is not what the service writes."""

    def __init__(self, collection: str, key: str) -> None:
        super().__init__(f"{collection}/{key} cannot be read")
        self.collection, self.key = collection, key

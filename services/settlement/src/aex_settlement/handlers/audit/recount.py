"""One projection, made anew from the journal in memory: sums that what is stored must come to."""

from collections.abc import Sequence

from aex_models.settlement import LedgerTransaction
from aex_settlement.repository.audited import projected_key_of
from aex_settlement.rules.audit.figures import Accounts, Figure, Kind, account_figures, rollup_figures
from aex_settlement.rules.audit.tally import Difference, Tally
from aex_settlement.rules.journal import JournalBatch
from aex_settlement.rules.projected import Projection

KINDS = {Projection.ACCOUNTS: (Kind.BALANCE, Kind.SHEET, Kind.DAY), Projection.ROLLUPS: (Kind.ROLLUP,)}
_FIRST, _LAST = "", "\uffff"


class Recount:
    """The sums of a projection as of batch `seq`, and, while what is stored is read beside it, what is left of them.

    The suite may go on meanwhile. What is stored is read by key, each page as of one watermark, so that a later batch
    counts for the records that are yet to be read, and for no others.
    """

    def __init__(
        self, projection: Projection, key: bytes, held: int, until: int = 0, chosen: frozenset[int] | None = None
    ) -> None:
        """`until`: the last batch that is taken in as it comes by; `key`, `held` and `chosen`: see `Tally`."""
        self.projection = projection
        self.until = until
        self.seq = 0
        self._accounts = Accounts()
        self._made = Tally(key, held, chosen)
        self._left = self._made
        self._read: dict[Kind, str] | None = None
        self._generation = ""

    def take(self, batch: JournalBatch, transactions: Sequence[LedgerTransaction]) -> None:
        """Take the next batch in, if it is that."""
        if batch.seq != self.seq + 1 or batch.seq > self.until:
            return
        self.seq = batch.seq
        for figure in self._figures(batch, transactions):
            self._made.add(figure.name, figure.values)
            if self._read is not None and self._is_yet_to_be_read(figure):
                self._left.add(figure.name, figure.values)

    def begin_reading(self, generation: str) -> None:
        """From now on what is stored is read: that of this generation."""
        self._generation = generation
        self._read = dict.fromkeys(KINDS[self.projection], _FIRST)
        self._left = self._made.copy()

    def read(self, kind: Kind, figures: Sequence[Figure], through: str | None) -> None:
        """Take away what a page holds; `through` is the key of its last record, None on the last page."""
        for figure in figures:
            self._left.add(figure.name, figure.values, -1)
        if self._read is not None:
            self._read[kind] = _LAST if through is None else through

    def difference(self) -> Difference:
        """What is left."""
        return self._left.difference()

    def _figures(self, batch: JournalBatch, transactions: Sequence[LedgerTransaction]) -> list[Figure]:
        if self.projection is Projection.ROLLUPS:
            return list(rollup_figures(transactions))
        return list(account_figures(self._accounts, batch, transactions))

    def _is_yet_to_be_read(self, figure: Figure) -> bool:
        read = (self._read or {}).get(figure.kind, _FIRST)
        return read == _FIRST or projected_key_of(self._generation, figure.where) > read

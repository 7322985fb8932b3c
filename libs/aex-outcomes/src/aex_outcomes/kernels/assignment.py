"""Assignment of rows to columns with the greatest sum of weights.

It is found by shortest augmenting paths (Jonker and Volgenant 1987). The sum equals that of
`scipy.optimize.linear_sum_assignment(weights, maximize=True)`. Of several best assignments the earliest is returned. It
is a perfect matching of the pairs whose cost equals the sum of their dual prices.
"""

from collections.abc import Sequence

_UNREACHED = 1 << 62


def assign_rows(weights: Sequence[Sequence[int]], columns: int) -> list[int | None]:
    """Return the column of each row, so that the sum of the weights is greatest.

    As many pairs are made as the shorter side has members; a row without a column gets None. Of several best
    assignments, the one is returned that gives the first row the lowest column, then the second row, and so on.
    `weights`: for each row a weight, 0 or more, for each of the columns. The time grows with the cube of the longer
    side: 300 rows and columns take up to 2 s.
    """
    size = max(len(weights), columns)
    costs = [[*(-weight for weight in row), *[0] * (size - columns)] for row in weights]
    costs += [[0] * size for _ in range(size - len(weights))]
    solution = _Solution(costs)
    for row in range(size):
        solution.add_row(row)
    chosen = _choose_earliest(solution.list_tight_columns(), solution.columns_by_row())
    return [column if column < columns else None for column in chosen[: len(weights)]]


class _Solution:
    """An optimal assignment of the rows added so far, with the dual prices that prove it."""

    def __init__(self, costs: Sequence[Sequence[int]]) -> None:
        self._costs = costs
        self._row_prices = [0] * len(costs)
        self._column_prices = [0] * len(costs)
        self._rows: list[int | None] = [None] * len(costs)
        """Row of each column."""

    def add_row(self, row: int) -> None:
        """Assign one more row by the shortest augmenting path, and adjust the prices."""
        costs, row_prices, prices = self._costs, self._row_prices, self._column_prices
        distances = [_UNREACHED] * len(costs)
        previous: list[int | None] = [None] * len(costs)
        visited: list[tuple[int, int]] = []
        open_columns = list(range(len(costs)))
        current, via, length = row, None, 0
        while True:
            shift, row_costs = length - row_prices[current], costs[current]
            nearest, shortest = -1, _UNREACHED
            for column in open_columns:
                distance = row_costs[column] + shift - prices[column]
                if distance < distances[column]:
                    distances[column], previous[column] = distance, via
                else:
                    distance = distances[column]
                if distance < shortest:
                    nearest, shortest = column, distance
            open_columns.remove(nearest)
            length, via = shortest, nearest
            owner = self._rows[nearest]
            if owner is None:
                break
            visited.append((owner, nearest))
            current = owner
        row_prices[row] += length
        for owner, column in visited:
            row_prices[owner] += length - distances[column]
            prices[column] -= length - distances[column]
        self._augment(row, via, previous)

    def _augment(self, row: int, column: int, previous: Sequence[int | None]) -> None:
        """Move each row on the path to its next column; the new row gets the path's first column."""
        before = previous[column]
        while before is not None:
            self._rows[column] = self._rows[before]
            column, before = before, previous[before]
        self._rows[column] = row

    def columns_by_row(self) -> list[int]:
        """Return the column of each row, once all rows are added."""
        pairs = sorted((row, column) for column, row in enumerate(self._rows) if row is not None)
        return [column for _, column in pairs]

    def list_tight_columns(self) -> list[int]:
        """Return for each row the columns whose cost equals the sum of both prices, as bits of an integer."""
        prices = self._column_prices
        return [
            sum(1 << column for column, cost in enumerate(costs) if cost == price + prices[column])
            for costs, price in zip(self._costs, self._row_prices, strict=True)
        ]


def _choose_earliest(tight: Sequence[int], columns: list[int]) -> list[int]:
    """Return the perfect matching of tight pairs that gives each row in turn the lowest possible column.

    `tight`: for each row its tight columns, as bits. `columns`: any perfect matching of tight pairs.
    """
    size = len(columns)
    rows_by_column = [sum(1 << row for row in range(size) if tight[row] >> column & 1) for column in range(size)]
    for row in range(size):
        lower = tight[row] & ((1 << columns[row]) - 1)
        if not lower:
            continue
        next_columns = _find_columns_to_free(row, columns, rows_by_column)
        owners = {column: owner for owner, column in enumerate(columns)}
        freed = [column for column in _list_bits(lower) if owners[column] in next_columns]
        if freed:
            column, mover, last = freed[0], row, columns[row]
            while column != last:
                owner = owners[column]
                columns[mover] = column
                mover, column = owner, next_columns[owner]
            columns[mover] = last
    return columns


def _find_columns_to_free(row: int, columns: Sequence[int], rows_by_column: Sequence[int]) -> dict[int, int]:
    """Return the later rows that can move if `row` leaves its column, each with its next column."""
    unseen = (1 << len(columns)) - (2 << row)
    next_columns: dict[int, int] = {}
    waiting = [columns[row]]
    for column in waiting:
        found = rows_by_column[column] & unseen
        unseen &= ~found
        for mover in _list_bits(found):
            next_columns[mover] = column
            waiting.append(columns[mover])
    return next_columns


def _list_bits(bits: int) -> list[int]:
    return [position for position in range(bits.bit_length()) if bits >> position & 1]

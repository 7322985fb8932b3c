"""How many evaluations of subschemas one path through an instance can cause: bounded before a schema is used.

The compiled validator evaluates a subschema each time it is led there, so that definitions that lead twice to the next
take time exponential in their number. It remembers verdicts only where a reference leads back to a subschema that it
stands in. Counted here, for each subschema, at the worst: one for itself; those at the same place of the instance,
all; of those for the instance's children, the dearest that one child can meet; and for `unevaluatedProperties` and
`unevaluatedItems` those at the same place once more. A reference that leads back counts as one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from aex_outcomes.kernels.schema_graph import SchemaGraph, Subschema, TooManyTargets

MAX_EVALUATIONS = 100_000
MAX_REPEATED = 40_000_000
"""Evaluations once round subschemas that lead back to themselves, times the ways round: the validator does not remember
the last round, where it goes all ways of each way.
"""
_BEYOND = MAX_EVALUATIONS + 1
"""Counts stop here: beyond, numbers with thousands of digits would take their time too."""

Edges = Sequence[Sequence[int]]


def is_too_complex(text: str) -> bool:
    """Whether a valid schema, as JSON text, can cause more than `MAX_EVALUATIONS`. Takes time linear in its size.

    Raises `Unresolvable` where a reference cannot be followed.
    """
    schema = json.loads(text)
    if not isinstance(schema, dict):
        return False
    try:
        subschemas = SchemaGraph(schema).subschemas
    except TooManyTargets:
        return True
    return _turns_in_place(subschemas) or _exceeds(subschemas)


def _turns_in_place(subschemas: Sequence[Subschema]) -> bool:
    """Whether subschemas lead back to themselves at the same place of the instance, and in more than one way.

    A single way ends where it began. Several are combined in all orders, and no verdict is remembered for a scalar.
    """
    here = [each.here for each in subschemas]
    return any(
        sum(_within(here[number], group) for number in group) > len(group) for group in map(frozenset, components(here))
    )


def _within(numbers: Iterable[int], group: frozenset[int]) -> int:
    return sum(number in group for number in numbers)


def _exceeds(subschemas: Sequence[Subschema]) -> bool:
    """Whether one of the subschemas costs too much, or those that lead to one another multiply too often.

    How often a group that leads back to itself is gone through depends on where the validator enters it: at most as
    often as there are ways that pass each of the group once.
    """
    cost, marking = [1] * len(subschemas), [1] * len(subschemas)  # 1 until counted: what leads back
    for component in components([each.all for each in subschemas]):
        group, ways = frozenset(component), 1
        for number in component:
            each = subschemas[number]
            evaluated = 1 + _here(each, cost) + _below(each, cost)
            marking[number] = min(_marked(each, cost, marking), _BEYOND)
            cost[number] = min(evaluated + (marking[number] if each.unevaluated else 0), _BEYOND)
            ways = min(ways * max(_multiplicity(each, group), 1), MAX_REPEATED + 1)
        dearest = max(cost[number] for number in component)
        if dearest > MAX_EVALUATIONS or dearest * ways > MAX_REPEATED:
            return True
    return False


def _here(each: Subschema, cost: Mapping[int, int] | Sequence[int]) -> int:
    """The cost at the same place."""
    referred = sum(max(cost[number] for number in targets) for targets in each.referred)
    return referred + sum(cost[number] for number in each.applied)


def _below(each: Subschema, cost: Mapping[int, int] | Sequence[int]) -> int:
    """The cost at the dearest child: a property, an item, or a property's name."""
    of_property = max((cost[number] for number in each.named), default=0) + sum(cost[n] for n in each.matched)
    of_item = max((cost[number] for number in each.placed), default=0) + sum(cost[n] for n in each.counted)
    return max(of_property, of_item, sum(cost[number] for number in each.names))


def _marked(each: Subschema, cost: Sequence[int], marking: Sequence[int]) -> int:
    """What finding out costs which children the subschema has looked at: whether those applied hold is asked again."""
    return (
        1
        + sum(cost[number] + marking[number] for number in each.applied)
        + sum(max(marking[number] for number in targets) for targets in each.referred)
        + max(sum(cost[number] for number in each.matched), sum(cost[number] for number in each.counted))
    )


def _multiplicity(each: Subschema, group: frozenset[int]) -> int:
    """How often at one place, or at one child, the subschema leads on within its group."""
    inside = {number: int(number in group) for number in each.all}
    again = sum(inside[number] for number in each.applied) if each.unevaluated else 0
    return _here(each, inside) + again + _below(each, inside)


def components(edges: Edges) -> list[list[int]]:
    """The strongly connected components (Tarjan), each after those that it leads to; in each the numbers in the order
    in which a search from the first number leaves them. Without recursion.
    """
    low, entered, left = [0] * len(edges), [0] * len(edges), [0] * len(edges)
    done, pending, clock = [False] * len(edges), list[int](), count(1)
    found: list[list[int]] = []
    for root in range(len(edges)):
        path = [] if entered[root] else [(root, iter(edges[root]))]
        while path:
            number, rest = path[-1]
            if not entered[number]:
                low[number] = entered[number] = next(clock)
                pending.append(number)
            following = next(rest, None)
            if following is None:
                path.pop()
                left[number] = next(clock)
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[number])
                if low[number] == entered[number]:
                    found.append(sorted(_closed(pending, number, done), key=left.__getitem__))
            elif not entered[following]:
                path.append((following, iter(edges[following])))
            elif not done[following]:
                low[number] = min(low[number], entered[following])
    return found


def _closed(pending: list[int], number: int, done: list[bool]) -> list[int]:
    """Take what came after the number, and itself, from the pending ones."""
    position = len(pending) - 1
    while pending[position] != number:
        position -= 1
    component = pending[position:]
    del pending[position:]
    for each in component:
        done[each] = True
    return component

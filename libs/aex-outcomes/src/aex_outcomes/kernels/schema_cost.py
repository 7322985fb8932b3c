"""Bounds on the evaluations of subschemas by one instance, checked before a schema is used.

The compiled validator evaluates a subschema for each path that leads to it. Definitions that refer twice to the
next one take time exponential in their number. It caches verdicts only for references to an enclosing subschema.
The worst case of each subschema is the sum of:

- one for itself, and all subschemas at the same instance;
- of those for the instance's children, the most expensive that one child can meet;
- for `unevaluatedProperties` and `unevaluatedItems`, those at the same instance once more.

A reference to an enclosing subschema counts as one.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import count

from aex_outcomes.kernels.schema_graph import SchemaGraph, Subschema, TooManyTargets

MAX_EVALUATIONS = 100_000
MAX_REPEATED = 40_000_000
"""Evaluations of one cycle of subschemas, times the ways around it.

The validator does not cache the last round, in which it follows all ways of each way.
"""
_BEYOND = MAX_EVALUATIONS + 1
"""Upper end of counts: numbers with thousands of digits would take time as well."""

Edges = Sequence[Sequence[int]]


def is_too_complex(text: str) -> bool:
    """Return True for a valid schema, as JSON text, that can exceed `MAX_EVALUATIONS`.

    Takes time linear in its size. Raises `Unresolvable` for a reference that cannot be followed.
    """
    schema = json.loads(text)
    if not isinstance(schema, dict):
        return False
    try:
        subschemas = SchemaGraph(schema).subschemas
    except TooManyTargets:
        return True
    return _has_branching_cycle(subschemas) or _exceeds_limits(subschemas)


def _has_branching_cycle(subschemas: Sequence[Subschema]) -> bool:
    """Return True for a cycle at the same instance with more than one way around.

    A single way ends where it began. Several are combined in all orders, and verdicts on scalars are not cached.
    """
    edges = [each.same_instance for each in subschemas]
    return any(
        sum(target in group for number in group for target in edges[number]) > len(group)
        for group in map(frozenset, components(edges))
    )


def _exceeds_limits(subschemas: Sequence[Subschema]) -> bool:
    """Return True if a subschema costs too much, or a cycle multiplies its cost too often.

    The entry point decides how often a cycle is passed: at most as often as there are ways through each member once.
    """
    cost, marking = [1] * len(subschemas), [1] * len(subschemas)  # 1 until counted: what leads back
    for component in components([each.targets for each in subschemas]):
        group, ways = frozenset(component), 1
        for number in component:
            each = subschemas[number]
            evaluated = 1 + _same_instance_cost(each, cost) + _children_cost(each, cost)
            marking[number] = min(_marking_cost(each, cost, marking), _BEYOND)
            cost[number] = min(evaluated + (marking[number] if each.unevaluated else 0), _BEYOND)
            ways = min(ways * max(_multiplicity(each, group), 1), MAX_REPEATED + 1)
        dearest = max(cost[number] for number in component)
        if dearest > MAX_EVALUATIONS or dearest * ways > MAX_REPEATED:
            return True
    return False


def _same_instance_cost(each: Subschema, cost: Mapping[int, int] | Sequence[int]) -> int:
    referred = sum(max(cost[number] for number in targets) for targets in each.references)
    return referred + sum(cost[number] for number in each.applicators)


def _children_cost(each: Subschema, cost: Mapping[int, int] | Sequence[int]) -> int:
    """Return the cost at the most expensive child: a property, an item, or a property's name."""
    of_property, of_item = (
        max((cost[number] for number in either), default=0) + sum(cost[number] for number in every)
        for either, every in ((each.property_schemas, each.pattern_schemas), (each.item_schemas, each.contains_schemas))
    )
    return max(of_property, of_item, sum(cost[number] for number in each.name_schemas))


def _marking_cost(each: Subschema, cost: Sequence[int], marking: Sequence[int]) -> int:
    """Return the cost of finding the evaluated children: applied subschemas are evaluated a second time."""
    applied = sum(cost[number] for number in each.applicators)
    of_children = max(sum(cost[number] for number in every) for every in (each.pattern_schemas, each.contains_schemas))
    return 1 + applied + _same_instance_cost(each, marking) + of_children


def _multiplicity(each: Subschema, group: frozenset[int]) -> int:
    """Return how often the subschema leads on within its group, at one instance or child."""
    inside = {number: int(number in group) for number in each.targets}
    unevaluated = sum(inside[number] for number in each.applicators) if each.unevaluated else 0
    return _same_instance_cost(each, inside) + unevaluated + _children_cost(each, inside)


def components(edges: Edges) -> list[list[int]]:
    """Return the strongly connected components (Tarjan), each after those that it leads to.

    Each lists its numbers in the order in which a search from the first number leaves them. Not recursive.
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
                    component: list[int] = []
                    while not done[number]:
                        component.append(pending.pop())
                        done[component[-1]] = True
                    found.append(sorted(component, key=left.__getitem__))
            elif not entered[following]:
                path.append((following, iter(edges[following])))
            elif not done[following]:
                low[number] = min(low[number], entered[following])
    return found

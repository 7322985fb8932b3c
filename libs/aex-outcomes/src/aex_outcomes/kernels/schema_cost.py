"""Worst-case cost of a JSON Schema, counted in evaluations of subschemas, and its limit.

A schema is checked before it is used, because some take exponential time: for example, definitions that each refer
twice to the next one. The validator evaluates a subschema once for each path that leads to it. It caches
verdicts only for references to an enclosing subschema. The cost of a subschema is the sum of:

- one for itself, and the costs of all subschemas at the same instance;
- the largest cost that a single child of the instance can cause;
- for `unevaluatedProperties` and `unevaluatedItems`, the costs at the same instance once more.

A reference to an enclosing subschema counts as one.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import count

from aex_outcomes.kernels.schema_graph import SchemaGraph, Subschema, TooManyTargets

MAX_EVALUATIONS = 100_000
MAX_REPEATED = 40_000_000
"""Maximum of a cycle's evaluations times the number of ways around it: the validator does not cache the last round."""
_BEYOND = MAX_EVALUATIONS + 1
"""Value at which counts stop growing, because numbers with thousands of digits would take time."""

Edges = Sequence[Sequence[int]]
"""Numbers of the nodes that each node leads to."""


def is_schema_too_complex(schema_text: str) -> bool:
    """Return True if an instance can cause more than `MAX_EVALUATIONS` evaluations of subschemas.

    `schema_text`: a valid JSON Schema as JSON. Takes time linear in its length. Raises `Unresolvable` for a reference
    that cannot be followed.
    """
    schema = json.loads(schema_text)
    if not isinstance(schema, dict):
        return False
    try:
        subschemas = SchemaGraph(schema).subschemas
    except TooManyTargets:
        return True
    return _has_branching_cycle(subschemas) or _exceeds_limits(subschemas)


def _has_branching_cycle(subschemas: Sequence[Subschema]) -> bool:
    """Return True if subschemas at the same instance form a cycle with more than one way around it.

    The validator would combine several ways in all orders, because it does not cache verdicts on scalars.
    """
    edges = [each.same_instance_targets for each in subschemas]
    return any(
        sum(target in group for number in group for target in edges[number]) > len(group)
        for group in map(frozenset, strongly_connected_components(edges))
    )


def _exceeds_limits(subschemas: Sequence[Subschema]) -> bool:
    """Return True if the cost of a subschema, or of a cycle times the ways around it, exceeds its limit."""
    cost, marking = [1] * len(subschemas), [1] * len(subschemas)  # 1 until counted: what leads back
    for component in strongly_connected_components([each.targets for each in subschemas]):
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
    """Return the cost of the instance's most expensive child: a property, an item, or a property's name."""
    of_property, of_item = (
        max((cost[number] for number in either), default=0) + sum(cost[number] for number in every)
        for either, every in ((each.property_schemas, each.pattern_schemas), (each.item_schemas, each.contains_schemas))
    )
    return max(of_property, of_item, sum(cost[number] for number in each.name_schemas))


def _marking_cost(each: Subschema, cost: Sequence[int], marking: Sequence[int]) -> int:
    """Return the cost of finding out which children are evaluated, by evaluating applied subschemas again."""
    applied = sum(cost[number] for number in each.applicators)
    of_children = max(sum(cost[number] for number in every) for every in (each.pattern_schemas, each.contains_schemas))
    return 1 + applied + _same_instance_cost(each, marking) + of_children


def _multiplicity(each: Subschema, group: frozenset[int]) -> int:
    """Return in how many ways the subschema leads to members of its group, at one instance or child."""
    inside = {number: int(number in group) for number in each.targets}
    unevaluated = sum(inside[number] for number in each.applicators) if each.unevaluated else 0
    return _same_instance_cost(each, inside) + unevaluated + _children_cost(each, inside)


def strongly_connected_components(edges: Edges) -> list[list[int]]:
    """Return the strongly connected components of a graph (Tarjan), each after those that it leads to.

    `edges`: for each node, the numbers of the nodes that it leads to. A component lists its nodes in the order in which
    a depth-first search leaves them. The search does not recurse.
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

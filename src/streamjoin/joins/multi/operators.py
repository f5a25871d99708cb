"""From a plan to the operators that run it.

Joins on one key need no shuffle between them: a shard has all tuples of its keys, so they run in
one operator. Where the key changes, another operator begins, whose input is what the one before
found:

```
((a b) c) d   a, b, c on x; d on y        operator 1: (a b) c by x  ->  operator 2: (a b c) d by y
```
"""

from collections.abc import Sequence
from dataclasses import dataclass

from streamjoin.errors import ConfigError
from streamjoin.joins.multi.keys import Keys
from streamjoin.planning.many.tree import Tree


@dataclass(frozen=True)
class Operator:
    """Joins of a plan that run together.

    Parameters
    ----------
    classes
        The key, as numbers of classes.
    inputs
        Nodes of the whole plan that come in: streams, or joins that earlier operators do.
    nodes
        Nodes of the whole plan by the numbers that they have here: inputs first, then joins.
    tree
        The joins, over the inputs.
    """

    classes: tuple[int, ...]
    inputs: tuple[int, ...]
    nodes: tuple[int, ...]
    tree: Tree


def default_plan(names: Sequence[str], keys: Keys) -> Tree:
    """The plan of those who give none: one stream after the other, in the order given.

    Streams whose key is that of the join before come first, so that the key changes as seldom as
    it can on such a way; and none is joined before an equality says how.

    Examples
    --------
    >>> from streamjoin.joins.multi.keys import KeyClass
    >>> keys = Keys((KeyClass({"a": "x", "b": "x", "d": "x"}), KeyClass({"b": "y", "c": "y"})))
    >>> print(default_plan("abcd", keys))
    ((a b) d) c
    """
    order, on = [names[0]], tuple[int, ...]()
    while len(order) < len(names):
        ways = {name: keys.between(order, [name]) for name in names if name not in order}
        joined = [name for name, classes in ways.items() if classes]
        same = [name for name in joined if ways[name] == on]
        order.append((same or joined)[0])
        on = ways[order[-1]]
    return Tree.linear(order).numbered(names)


def operators_of(tree: Tree, keys: Keys) -> list[Operator]:
    """The operators of a plan, each after those whose results it takes.

    Examples
    --------
    >>> from streamjoin.joins.multi.keys import KeyClass
    >>> keys = Keys((KeyClass({"a": "x", "b": "x", "c": "x"}), KeyClass({"c": "y", "d": "y"})))
    >>> [(str(o.tree), o.inputs, o.nodes) for o in operators_of(Tree.parse("((a b) c) d"), keys)]
    [('(n0 n1) n2', (0, 1, 2), (0, 1, 2, 4, 5)), ('n5 n3', (5, 3), (5, 3, 6))]
    """
    k = tree.n_streams
    on = {k + i: _classes(tree, keys, children) for i, children in enumerate(tree.joins)}
    tops = [n for n in on if n == tree.root or on[tree.parents[n]] != on[n]]
    return [_operator(tree, on, top) for top in tops]


def one_operator(tree: Tree, keys: Keys) -> Operator:
    """One n-ary join of all streams, whatever their keys are."""
    streams = tuple(range(tree.n_streams))
    return Operator(
        classes=tuple(range(len(keys.classes))),
        inputs=streams,
        nodes=tuple(range(tree.root + 1)),
        tree=tree,
    )


def _operator(tree: Tree, on: dict[int, tuple[int, ...]], top: int) -> Operator:
    inputs: list[int] = []
    joins: list[int] = []

    def walk(node: int) -> None:
        for child in tree.children(node):
            if child >= tree.n_streams and on[child] == on[top]:
                walk(child)
            else:
                inputs.append(child)
        joins.append(node)

    walk(top)
    inputs.sort(key=lambda node: min(tree.streams(node)))  # the user's order, which breaks ties
    nodes = (*inputs, *joins)
    number = {node: i for i, node in enumerate(nodes)}
    pairs = [(number[x], number[y]) for x, y in map(tree.children, joins)]
    return Operator(
        classes=on[top],
        inputs=tuple(inputs),
        nodes=nodes,
        tree=Tree(tuple(f"n{node}" for node in inputs), tuple(pairs)),
    )


def _classes(tree: Tree, keys: Keys, children: tuple[int, int]) -> tuple[int, ...]:
    left, right = ([tree.names[i] for i in tree.streams(child)] for child in children)
    found = keys.between(left, right)
    if not found:
        raise ConfigError(
            f"plan: '{tree}' joins {', '.join(left)} with {', '.join(right)}, and no equality says "
            "how (a cross join); allowed: plans whose joins each have one"
        )
    return found

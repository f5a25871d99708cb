"""Plans of many joins: a binary tree whose leaves are streams (JAQ-A11, JAQ-A31).

Nodes are numbers: the streams are 0 .. k-1, then come the joins, each after its two inputs, and the
last is the root. Every node x but the root has a *state*, what is remembered of
its tuples, and is one *half-way join*: tuples of x probe the state of the node's sibling.

```
((a b) (c d))          root 6
                      4      5        states 0 .. 5; half-way joins 0 .. 5, such as
                     0 1    2 3       0: a |x S_b      4: ab |x S_cd
```
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from streamjoin.errors import ConfigError

_TOKENS: Final = re.compile(r"\s*([()]|[^\s()]+)")
_ALLOWED: Final = 'pairs in parentheses, such as "((a b) c) d"'
Children = tuple[int, int]


@dataclass(frozen=True)
class Tree:
    """A plan.

    Examples
    --------
    >>> tree = Tree.parse("((a b) c) d")
    >>> tree.names, tree.joins, tree.root
    (('a', 'b', 'c', 'd'), ((0, 1), (4, 2), (5, 3)), 6)
    >>> [tree.label(node) for node in tree.path(0)], tree.shape
    (['a', 'a b', 'a b c'], 'linear')
    >>> print(tree)
    ((a b) c) d
    """

    names: tuple[str, ...]
    """The streams in the order of their numbers: from left to right, unless another was asked
    for."""
    joins: tuple[Children, ...]  # the two inputs of each join, by number

    @classmethod
    def parse(cls, text: str, names: Sequence[str] | None = None) -> "Tree":
        """Read a plan, or say what is wrong with it.

        `names` are the streams that there are, in the order in which they are to be numbered; upper
        and lower case are then one.

        Examples
        --------
        >>> Tree.parse("(a b)(c d)").shape
        'bushy'
        >>> Tree.parse("(a x) b", names=["a", "b", "c"])
        Traceback (most recent call last):
            ...
        streamjoin.errors.ConfigError: plan: '(a x) b' names 'x'; allowed: each of a, b, c once
        """
        words = _TOKENS.findall(text) if isinstance(text, str) else []
        if "".join(words) != re.sub(r"\s", "", str(text)):
            raise _wrong(text, "is no tree")
        known = {name.lower(): name for name in names or ()}
        words = [known.get(word.lower(), word) for word in words]
        leaves = [word for word in words if word not in "()"]
        if not leaves:
            raise _wrong(text, "is no tree")
        _check_names(text, leaves, names)
        tree = cls(tuple(leaves), tuple(_read(words, leaves, text)))
        return tree if names is None else tree.numbered(names)

    @classmethod
    def linear(cls, names: Sequence[str]) -> "Tree":
        """Streams joined one after the other.

        Examples
        --------
        >>> print(Tree.linear(["a", "b", "c"]))
        (a b) c
        """
        k = len(names)
        joins = [(0 if i == 1 else k + i - 2, i) for i in range(1, k)]
        return cls(tuple(names), tuple(joins))

    def numbered(self, names: Sequence[str]) -> "Tree":
        """The same tree with its streams numbered in another order.

        Examples
        --------
        >>> Tree.parse("(b c) a").numbered(["a", "b", "c"])
        Tree(names=('a', 'b', 'c'), joins=((1, 2), (3, 0)))
        """
        place = {name: i for i, name in enumerate(names)}
        number = [place[name] for name in self.names]
        number += range(self.n_streams, self.root + 1)
        return Tree(tuple(names), tuple((number[x], number[y]) for x, y in self.joins))

    @property
    def n_streams(self) -> int:
        """Streams."""
        return len(self.names)

    @property
    def root(self) -> int:
        """The node whose tuples are the results."""
        return 2 * self.n_streams - 2

    @property
    def susceptible(self) -> range:
        """States that hold intermediate results, and may go stale: always k - 2 (JAQ-A19)."""
        return range(self.n_streams, self.root)

    def children(self, node: int) -> Children:
        """The two inputs of a join."""
        return self.joins[node - self.n_streams]

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """The join that each node but the root is an input of."""
        parents = {c: self.n_streams + i for i, pair in enumerate(self.joins) for c in pair}
        return tuple(parents[node] for node in range(self.root))

    def sibling(self, node: int) -> int:
        """The node whose state the tuples of a node probe."""
        left, right = self.children(self.parents[node])
        return right if node == left else left

    def path(self, leaf: int) -> tuple[int, ...]:
        """Half-way joins from a stream to the root (JAQ-A11)."""
        nodes = [leaf]
        while (above := self.parents[nodes[-1]]) != self.root:
            nodes.append(above)
        return tuple(nodes)

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The path of each stream."""
        return tuple(self.path(leaf) for leaf in range(self.n_streams))

    def streams(self, node: int) -> tuple[int, ...]:
        """The streams whose tuples make up those of a node, from left to right."""
        if node < self.n_streams:
            return (node,)
        left, right = self.children(node)
        return self.streams(left) + self.streams(right)

    def label(self, node: int) -> str:
        """A node by its streams."""
        return " ".join(self.names[i] for i in self.streams(node))

    @property
    def shape(self) -> str:
        """Linear, bushy (no join has a stream and a join as inputs) or semi-bushy (JAQ-A31)."""
        kinds = [sum(child < self.n_streams for child in pair) for pair in self.joins]
        if all(kinds):
            return "linear"
        return "semi-bushy" if 1 in kinds else "bushy"

    def __str__(self) -> str:
        return self._text(self.root)[1:-1]

    def _text(self, node: int) -> str:
        if node < self.n_streams:
            return self.names[node]
        left, right = self.children(node)
        return f"({self._text(left)} {self._text(right)})"


def _check_names(text: str, leaves: list[str], names: Sequence[str] | None) -> None:
    known = leaves if names is None else names
    unknown = [leaf for leaf in leaves if leaf not in known]
    twice = [leaf for leaf in leaves if leaves.count(leaf) > 1]
    missing = [name for name in known if name not in leaves]
    allowed = f"each of {', '.join(known)} once" if names is not None else "each stream once"
    for what, wrong in (("names", unknown), ("names twice", twice), ("leaves out", missing)):
        if wrong:
            msg = f"plan: {text!r} {what} {wrong[0]!r}; allowed: {allowed}"
            if what == "names twice":
                msg += " (give it a second name to join it with itself)"
            raise ConfigError(msg)


def _read(words: list[str], leaves: list[str], text: str) -> list[Children]:
    """The joins of a plan, each after its inputs."""
    joins: list[Children] = []
    rest = words[::-1]  # the next word is the last

    def joined() -> int:
        """The join of two nodes, or one node."""
        left = node()
        if not rest or rest[-1] == ")":
            return left
        joins.append((left, node()))
        return len(leaves) + len(joins) - 1

    def node() -> int:
        word = rest.pop() if rest else ")"
        if word not in "()":
            return leaves.index(word)
        inner = joined() if word == "(" else None
        if inner is None or not rest or rest.pop() != ")":
            raise _wrong(text, "is no tree")
        return inner

    top = joined()
    if rest or top != len(leaves) + len(joins) - 1 or len(leaves) < 2:
        raise _wrong(text, "is no tree of two streams or more")
    return joins


def _wrong(text: object, why: str) -> ConfigError:
    return ConfigError(f"plan: {text!r} {why}; allowed: {_ALLOWED}")

"""Ways: which operand of an addition is the stream, by the ways back to what both operands come from.

Here lives the rule, over autograd's graph; how additions are met and gated lives in `gates`.
"""

import re
from functools import cache
from heapq import heappop, heappush
from typing import NamedTuple

_CARRY = re.compile(  # hands on what it is given, each number by itself, or only moved; with weights, by gains
    "Add|Sub|Rsub|Mul|Div|Lerp|Where|Maximum|Minimum|Cat|Stack|CopySlices|Index|Scatter|Slice|Select|Masked|Prelu"
    "|(Native|Fused|Cudnn|Miopen).*Norm|RmsNorm|Pow|Atan2|Hypot|Copy(?!Slices)"
)
_MIX = re.compile("(Add|Badd|Addb)?b?mm|Addm|Mv|Dot|Convolution|Linear|.*Attention|.*Rnn", re.I)
_BLEND = re.compile("Fft|.*Pool")  # weighs nothing, yet makes one number of many
_BENT = re.compile(".*(elu|sigmoid|silu|swish|mish|tanh|soft|attention|act)|Expm?1?B|Log|Sin|Cos|Erf|Clamp|Abs", re.I)
_LOOKED_UP = re.compile("Embedding|Index|Gather")
_PARTS = re.compile("Split|UnsafeSplit|Unbind")  # one node with an output for each part
_PART = re.compile("Select|Slice")
_ITEMS = re.compile("Select|Unbind")  # a word of a sentence, not some features of all words
_SCALE = re.compile("Mul|Div|Where|Lerp|Max|Min")
_ADD = re.compile("B?Add|Sub")


class Verdict(NamedTuple):
    """stream: which operand, or None. why: what speaks against it, or None. doubtful: the stream is changed by weights.

    branch: the vertices of the other's own. common: where the stream's way ends. linear: no bend in the branch.
    """

    stream: int | None
    why: str | None
    doubtful: bool = False
    changed: bool = False
    gains: bool = False
    branch: frozenset = frozenset()
    common: int | None = None
    linear: bool = False


class Kind(NamedTuple):
    mixes: bool
    carries: bool
    blends: bool
    bends: bool
    looks_up: bool
    has_parts: bool  # an output for each part
    is_part: bool
    is_item: bool
    adds: bool
    scales: bool


@cache
def _kind(name):
    return Kind(
        *(
            bool(each.match(name))
            for each in (_MIX, _CARRY, _BLEND, _BENT, _LOOKED_UP, _PARTS, _PART, _ITEMS, _ADD, _SCALE)
        )
    )


class Ways:
    """Autograd's nodes as numbers, each larger than what it comes from; weights are left out where data comes along."""

    def __init__(self, weights):
        self.weights, self.at, self.parts = weights, {}, {}
        self.kinds, self.before, self.mixes, self.weighs, self.bare, self.left = [], [], [], [], [], []

    def vertex(self, edge):
        """The number of a tensor's gradient edge."""
        todo = [edge[0]]
        while todo:
            if todo[-1] in self.at:
                todo.pop()
            else:
                edges = todo[-1].next_functions
                if new := [each for each, _ in edges if each is not None and each not in self.at]:
                    todo += new
                else:
                    self._add(todo.pop(), edges)
        return self._output(*edge[:2])

    def _output(self, node, output):
        vertex = self.at[node]
        kind = self.kinds[vertex]
        return self._part((vertex, output), kind._replace(is_part=True), (vertex,)) if kind.has_parts else vertex

    def _part(self, key, kind, before):
        if key not in self.parts:
            self.parts[key] = self._append(kind, before)
        return self.parts[key]

    def _add(self, node, edges):
        name = node.name()
        kind, before = _kind(name), [self._output(*edge) for edge in edges if edge[0] is not None]
        data = tuple(each for each in before if not self.bare[each])
        if kind.is_part and data:  # the same slice twice is one
            where = tuple(getattr(node, f"_saved_{each}", None) for each in ("dim", "start", "end", "step", "index"))
            self.at[node] = self._part((data, name, where), kind, data)
            return
        mixes = kind.mixes or (len(before) > 1 and not kind.carries)
        weighs, bare = len(data) < len(before), node in self.weights or bool(before and not data)
        if bare and before and (mixes or kind.looks_up):
            bare, data = False, () if kind.looks_up else tuple(before)
        left = () if kind.adds else tuple(before)
        self.at[node] = self._append(kind, tuple(before) if bare else data, mixes and not bare, weighs, bare, left)

    def _append(self, kind, before, mixes=False, weighs=False, bare=False, left=()):
        self.kinds.append(kind)
        self.before.append(before)
        self.mixes.append(mixes)
        self.weighs.append(weighs)
        self.bare.append(bare)
        self.left.append({*left, *before})
        return len(self.kinds) - 1

    def root(self, vertex):
        """Back from a vertex as long as it is made of one alone, unmixed."""
        while len(self.before[vertex]) == 1 and not self.mixes[vertex]:
            (vertex,) = self.before[vertex]
        return vertex

    def bends(self, vertices):
        return any(self.kinds[each].bends for each in vertices)

    def blends(self, vertices):
        return any(self.mixes[each] or self.kinds[each].blends for each in vertices)

    def told(self, a, b, alike=True):
        """The verdict on a + b, two vertices. alike: they have one shape."""
        if self.bare[a] != self.bare[b]:
            return self._told_of_constant(a, b)
        marks, own = self._apart(a, b)
        ways = [self._way(end, side, marks) for end, side in zip((a, b), own)]
        if None in ways:
            return Verdict(None, "nothing that both come from")
        if ways[0][::2] == ways[1][::2]:
            return Verdict(None, "neither way back to what both come from is the shorter")
        stream = int(ways[1][::2] < ways[0][::2])  # of two as long, the one that leads further back
        ((mixed, _), way, common), ((other, _), branch_way, _) = ways[stream], ways[1 - stream]
        branch = self._made_of(
            {vertex for vertex, mark in marks.items() if mark == 3}, own[1 - stream][::-1], self.before
        )
        entries = [self.kinds[each] for each in branch if common in self.before[each]]
        ends = [*entries, self.kinds[way[0]]] if way and entries else []
        parts = bool(ends) and all(each.is_part for each in ends)
        why, gains = None, not mixed and any(self.weighs[each] for each in way)
        if not self.blends(branch):
            why = "the branch takes each number by itself"
        elif parts and (not other or all(each.is_item for each in ends)):
            why = "two items of one tensor"
        elif mixed and not (alike and self._projects(way) and self.bends(branch if other > mixed else branch_way)):
            why = "both sides mix what they come from"
        scaled = any(self.kinds[each].scales and len(self.before[each]) > 1 for each in way)
        return Verdict(
            stream,
            why,
            mixed or parts,
            gains or scaled or self.bends(way),
            gains,
            frozenset(branch),
            common,
            not self.bends(branch),
        )

    def _told_of_constant(self, a, b):
        """The same where one operand is made of weights and constants alone, as queries are."""
        stream = int(self.bare[b])
        start, *todo = (b, a) if stream else (a, b)
        behind = set(todo)
        while todo:
            new = self.left[todo.pop()] - behind
            behind |= new
            todo += new
        branch = self._made_of({start}, sorted(behind), self.left)
        if not self.blends(branch):
            return Verdict(None, "nothing that both come from")
        return Verdict(stream, None, branch=frozenset(branch), common=start)

    def _made_of(self, common, vertices, before):
        """Those of these vertices, in order, that come from what is common."""
        made = set()
        for vertex in vertices:
            if vertex not in common and any(each in common or each in made for each in before[vertex]):
                made.add(vertex)
        return made

    def _projects(self, way):
        """Whether nothing bends behind the first that mixes."""
        mixed = False
        for vertex in way:
            mixed |= self.mixes[vertex]
            if mixed and self.kinds[vertex].bends:
                return False
        return True

    def _apart(self, a, b):
        """marks: vertex -> 1 if behind a, 2 if behind b, 3 if behind both; what is behind one alone, latest first."""
        marks = {a: 1}
        marks[b] = marks.get(b, 0) | 2
        heap, own, waiting = sorted(-each for each in marks), ([], []), 2 * (a != b)
        while waiting:
            vertex = -heappop(heap)
            mark = marks[vertex]
            if mark != 3:
                waiting -= 1
                own[mark - 1].append(vertex)
            for each in self.before[vertex]:
                seen = marks.get(each, 0)
                if not seen:
                    marks[each] = mark
                    heappush(heap, -each)
                    waiting += mark != 3
                elif seen | mark != seen:
                    marks[each] = 3
                    waiting -= 1
        return marks, own

    def _way(self, start, own, marks):
        """The shortest way back from `start` to what both have: ((how often it mixes, steps), vertices, its end)."""
        if marks[start] == 3:
            return (0, 0), [], start
        far, after = {start: (0, 0)}, {}
        for vertex in own:
            one_on = far[vertex][0] + self.mixes[vertex], far[vertex][1] + 1
            for each in self.before[vertex]:
                if each not in far or one_on < far[each]:
                    far[each], after[each] = one_on, vertex
        ends = [each for each in after if marks[each] == 3]
        if not ends:
            return None
        end = min(ends, key=lambda each: (far[each], each))
        way, vertex = [], end
        while vertex != start:
            vertex = after[vertex]
            way.append(vertex)
        return far[end], way, end

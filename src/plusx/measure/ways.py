"""Ways: which operand of an addition is the stream, by the ways back to what both operands come from.

Here lives the rule, over autograd's graph; how additions are met and gated lives in `gates`.
"""

import re
from functools import cache
from heapq import heappop, heappush
from typing import NamedTuple

from torch.autograd.graph import get_gradient_edge

# What a node of autograd does, by how its name begins.
_KINDS = {
    "mixes": "(?i)(Add|Badd|Addb)?b?mm|Addm|Mv|Dot|Convolution|Linear|.*Attention|.*Rnn",
    "carries": "Add|Sub|Rsub|Mul|Div|Lerp|Where|Maximum|Minimum|Cat|Stack|CopySlices|Index|Scatter|Slice|Select|Masked"
    "|Prelu|(Native|Fused|Cudnn|Miopen).*Norm|RmsNorm|Pow|Atan2|Hypot|Copy(?!Slices)",  # with weights, by gains
    "blends": "Fft|.*Pool|(Scatter|Index)Add",  # weighs nothing, yet makes one number of many
    "bends": "(?i).*(elu|sigmoid|silu|swish|mish|tanh|soft|attention|act)|Expm?1?B|Log|Sin|Cos|Erf|Clamp|Abs",
    "looks up": "Embedding|Index|Gather",
    "has parts": "Split|UnsafeSplit|Unbind",  # one node with an output for each
    "is part": "Select|Slice",
    "is item": "Select|Unbind",  # a word of a sentence, not some features of all words
    "scales": "Mul|Div|Where|Lerp|Max|Min",
    "adds": "B?Add|Sub",
}


@cache
def _kinds(name):
    return frozenset(kind for kind, names in _KINDS.items() if re.match(names, name))


class Vertex:
    """A node of autograd, or one output of it, with a larger number than what it comes from.

    before: that, without weights where data comes along. left: the same, with weights, behind all but additions.
    bare: of weights and constants alone; fixed: also where words or places look up in them. weighs: weights come along.
    """

    __slots__ = "number", "kinds", "before", "mixes", "weighs", "bare", "fixed", "left"

    def __init__(self, number, kinds, before, mixes=False, weighs=False, bare=False, left=()):
        self.number, self.kinds, self.before, self.mixes = number, kinds, before, mixes
        self.weighs, self.bare, self.left = weighs, bare, {*left, *before}
        self.fixed = bare or not mixes and (all(each.fixed for each in before) if before else "looks up" in kinds)

    def back(self):
        """It, and what it is made of as long as that is one alone, unmixed."""
        way = [self]
        while len(way[-1].before) == 1 and not way[-1].mixes:
            way += way[-1].before
        return way

    def root(self):
        return self.back()[-1]


class Verdict(NamedTuple):
    """stream: which operand, or None. why: what speaks against it, None if nothing, or if it can be none.

    doubtful: the stream is mixed, or a part. changed: it is scaled or bent; gains: by weights. branch: vertices of the
    other's own. common: where the stream's way ends. linear: no bend in the branch.
    """

    stream: int | None = None
    why: str | None = None
    doubtful: bool = False
    changed: bool = False
    gains: bool = False
    branch: frozenset = frozenset()
    common: Vertex | None = None
    linear: bool = False


def bends(vertices):
    return any("bends" in each.kinds for each in vertices)


def blends(vertices):
    return any(each.mixes or "blends" in each.kinds for each in vertices)


class Ways:
    """Autograd's nodes as vertices. weights: the nodes of weights and constants."""

    def __init__(self, weights):
        self.weights, self.at = weights, {}  # a node, or what tells its part -> vertex

    def vertex(self, tensor):
        node, output, *_ = get_gradient_edge(tensor)
        todo = [node]
        while todo:
            if todo[-1] in self.at:
                todo.pop()
            elif new := [each for each, _ in todo[-1].next_functions if each is not None and each not in self.at]:
                todo += new
            else:
                self._add(todo.pop())
        return self._output(node, output)

    def sum(self, total, *ends):
        """The vertex of a + b, however the model computed it."""
        node = get_gradient_edge(total).node
        if node not in self.at:
            self._add(node, "Add", ends)
        return self.vertex(total)

    def _output(self, node, output):
        vertex = self.at[node]
        if "has parts" not in vertex.kinds:
            return vertex
        return self._made((vertex, output), vertex.kinds - {"has parts"} | {"is part"}, (vertex,))

    def _made(self, key, kinds, before, **more):
        if key not in self.at:
            self.at[key] = Vertex(len(self.at), kinds, before, **more)
        return self.at[key]

    def _add(self, node, name=None, before=None):
        kinds = _kinds(name := name or node.name())
        before = before or tuple(self._output(*edge) for edge in node.next_functions if edge[0] is not None)
        data = tuple(each for each in before if not each.bare)
        if "adds" in kinds and len(before) == 1:  # a number
            self.at[node] = before[0]
            return
        if "is part" in kinds and data:  # the same slice twice is one
            where = (getattr(node, f"_saved_{each}", None) for each in ("dim", "start", "end", "step", "index"))
            self.at[node] = self._made((data, name, *where), kinds, data)
            return
        mixes = "mixes" in kinds or (len(before) > 1 and "carries" not in kinds)
        bare = node in self.weights or bool(before and not data)
        if bare and before and (mixes or "looks up" in kinds):
            bare, data = False, () if "looks up" in kinds else before
        left = () if "adds" in kinds else before
        more = dict(mixes=mixes and not bare, weighs=len(data) < len(before), bare=bare, left=left)
        self._made(node, kinds, before if bare else data, **more)

    def told(self, a, b, alike=True):
        """The verdict on a + b, two vertices. alike: they have one shape."""
        if a.bare or b.bare:
            return Verdict() if a.bare and b.bare else _told_of_constant(a, b)
        marks, own = _apart(a, b)
        ways = [_way(end, side, marks) for end, side in zip((a, b), own)]
        if None in ways:
            return Verdict(why="nothing that both come from" if blends([*own[0], *own[1]]) else None)
        if ways[0][::2] == ways[1][::2]:
            return Verdict(why="neither way back to what both come from is the shorter")
        stream = int(ways[1][::2] < ways[0][::2])  # of two as long, the one that leads further back
        ((mixed, _), way, _, common), ((other, _), branch_way, *_) = ways[stream], ways[1 - stream]
        behind = [each for each, mark in marks.items() if mark & (2 - stream)]
        branch = _made_of({common, common.root()}, behind) - {each for each in behind if marks[each] == 3}
        entries = [each.kinds for each in branch if common in each.before]
        ends = [*entries, way[0].kinds] if way and entries else []
        parts = bool(ends) and all("is part" in each for each in ends)
        why, gains = None, not mixed and any(each.weighs for each in way)
        if not blends(branch):
            why = "the branch takes each number by itself"
        elif parts and (not other or all("is item" in each for each in ends)):
            why = "two items of one tensor"
        elif mixed and not (alike and _projects(way) and bends(branch if other > mixed else branch_way)):
            why = "both sides mix what they come from"
        scaled = any("scales" in each.kinds and len(each.before) > 1 for each in way)
        changed = gains or scaled or bends(way)
        return Verdict(stream, why, bool(mixed) or parts, changed, gains, branch, common, not bends(branch))


def _told_of_constant(a, b):
    """The same where one operand is made of weights and constants alone, as queries are, or a bias."""
    stream = int(b.bare)
    start, *todo = (b, a) if stream else (a, b)
    behind = set(todo)
    while todo:
        new = todo.pop().left - behind
        behind |= new
        todo += new
    branch = _made_of({start}, behind, "left")
    return Verdict(stream, branch=branch, common=start) if blends(branch) else Verdict()


def _made_of(common, vertices, before="before"):
    """Those of these vertices that come from what is common."""
    made = set()
    for vertex in sorted(vertices, key=lambda each: each.number):
        if vertex not in common and any(each in common or each in made for each in getattr(vertex, before)):
            made.add(vertex)
    return frozenset(made)


def _projects(way):
    """Whether nothing bends behind the first that mixes."""
    first = next((at for at, vertex in enumerate(way) if vertex.mixes), len(way))
    return not bends(way[first:])


def _apart(a, b):
    """marks: vertex -> 1 if behind a, 2 if behind b, 3 if behind both; what is behind one alone, latest first."""
    marks = {a: 1}
    marks[b] = marks.get(b, 0) | 2
    heap, own, waiting = [(-each.number, each) for each in marks], ([], []), 2 * (a is not b)
    heap.sort()
    while waiting:
        vertex = heappop(heap)[1]
        mark = marks[vertex]
        if mark != 3:
            waiting -= 1
            own[mark - 1].append(vertex)
        for each in vertex.before:
            seen = marks.get(each, 0)
            if not seen:
                marks[each] = mark
                heappush(heap, (-each.number, each))
                waiting += mark != 3
            elif seen | mark != seen:
                marks[each] = 3
                waiting -= 1
    return marks, own


def _way(start, own, marks):
    """The shortest way back from `start` to what both have: ((how often it mixes, steps), vertices, end, end)."""
    far, after = {start: (0, 0)}, {}
    for vertex in own:
        one_on = far[vertex][0] + vertex.mixes, far[vertex][1] + 1
        for each in vertex.before:
            if each not in far or one_on < far[each]:
                far[each], after[each] = one_on, vertex
    ends = [each for each in far if marks[each] == 3]
    if not ends:
        return None
    end = vertex = min(ends, key=lambda each: (far[each], each.number))
    way = []
    while vertex is not start:
        vertex = after[vertex]
        way.append(vertex)
    return far[end], way, end.number, end

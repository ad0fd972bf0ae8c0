"""Ways: which operand of an addition is the stream, by the ways back to what both operands come from.

Here lives the rule, over autograd's graph; how additions are met and gated lives in `gates`.
"""

import re
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop, heappush
from itertools import dropwhile
from operator import attrgetter

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


@dataclass(eq=False, slots=True)
class Vertex:
    """A node of autograd, or one output of it, with a larger number than what it comes from.

    before: that, without weights where data comes along. weights: these. bare: of weights and constants alone; fixed:
    also where words or places look up in them.
    """

    number: int
    kinds: frozenset
    before: tuple
    weights: tuple = ()
    mixes: bool = False
    bare: bool = False
    fixed: bool = False

    @property
    def left(self):
        """What it is made of, with weights where it is no sum."""
        return self.before if "adds" in self.kinds else self.before + self.weights

    def back(self):
        """It, and what it is made of as long as that is one alone, unmixed."""
        way = [self]
        while len(way[-1].before) == 1 and not way[-1].mixes:
            way += way[-1].before
        return way

    def root(self):
        return self.back()[-1]


@dataclass(eq=False)
class Sum:
    """What is seen of an addition of two vertices.

    stream: which operand, or None. why: what speaks against it, None if nothing, or if it can be none. doubtful: the
    stream is mixed, or a part. changed: it is scaled or bent; gains: by weights. made: vertices of the branch's own.
    common: where the stream's way ends. linear: no bend in the branch. ends: the stream's vertex and the branch's.
    place, total: where it was met, and the vertex of its result.
    """

    stream: int | None = None
    why: str | None = None
    doubtful: bool = False
    changed: bool = False
    gains: bool = False
    made: set = frozenset()
    common: Vertex | None = None
    linear: bool = False
    ends: tuple = ()
    place: tuple = ()
    total: Vertex | None = None


def bends(vertices):
    return any("bends" in each.kinds for each in vertices)


def blends(vertices):
    return any(each.mixes or "blends" in each.kinds for each in vertices)


class Ways:
    """Autograd's nodes as vertices. leaves: weights and constants by id; other leaves are what the model was given."""

    def __init__(self):
        self.leaves, self.at = {}, {}  # a node, or what tells its part -> vertex

    def vertex(self, tensor):
        node = tensor.grad_fn or get_gradient_edge(tensor).node
        todo = [node]
        while todo:
            if todo[-1] in self.at:
                todo.pop()
            elif new := [each for each, _ in todo[-1].next_functions if each is not None and each not in self.at]:
                todo += new
            else:
                self._add(todo.pop())
        return self._output(node, tensor.output_nr)

    def sum(self, total, *ends):
        """The vertex of a + b, however the model computed it."""
        if total.grad_fn not in self.at:
            self._add(total.grad_fn, "Add", ends)
        return self.vertex(total)

    def _output(self, node, output):
        vertex = self.at[node]
        if "has parts" not in vertex.kinds:
            return vertex
        return self._made((vertex, output), vertex.kinds - {"has parts"} | {"is part"}, (vertex,))

    def _made(self, key, kinds, before, *more):
        if key not in self.at:
            self.at[key] = Vertex(len(self.at), kinds, before, *more)
        return self.at[key]

    def _add(self, node, name=None, before=None):
        kinds = _kinds(name := name or node.name())
        before = before or tuple([self._output(*edge) for edge in node.next_functions if edge[0] is not None])
        data = tuple([each for each in before if not each.bare])
        if "adds" in kinds and len(before) == 1:  # a number
            self.at[node] = before[0]
            return
        if "is part" in kinds and data:  # the same slice twice is one
            where = (getattr(node, f"_saved_{each}", None) for each in ("dim", "start", "end", "step", "index"))
            self.at[node] = self._made((data, name, *where), kinds, data)
            return
        mixes = "mixes" in kinds or (len(before) > 1 and "carries" not in kinds)
        bare = not data if before else id(getattr(node, "variable", None)) in self.leaves
        if bare and before and (mixes or "looks up" in kinds):
            bare, data = False, () if "looks up" in kinds else before
        weights = () if data is before else tuple([each for each in before if each.bare])
        data = before if bare else data
        mixes = mixes and not bare
        fixed = bare or not mixes and (all([each.fixed for each in data]) if data else "looks up" in kinds)
        self._made(node, kinds, data, weights, mixes, bare, fixed)


def told(a, b, alike=True):
    """What is to say of a + b, two vertices. alike: they have one shape."""
    if a.bare or b.bare:  # one is made of weights and constants alone, as queries are, or a bias
        start, end = (b, a) if b.bare else (a, b)
        made = () if a.bare and b.bare else _between({start}, end, "left")
        return Sum(int(b.bare), made=made, common=start) if blends(made) else Sum()
    marks, ways = _apart(a, b)
    if not ways:
        return Sum(why="nothing that both come from" if blends(marks) else None)
    if ways[0][:2] == ways[1][:2]:
        return Sum(why="neither way back to what both come from is the shorter")
    stream = int(ways[1][:2] < ways[0][:2])  # of two as long, the one that leads further back
    ((mixed, _), _, common, way), ((other, _), *_, branch_way) = ways[stream], ways[1 - stream]
    made = {each for each in _between({common, common.root()}, (b, a)[stream]) if marks.get(each, 3) != 3}
    entries = [each.kinds for each in made if common in each.before]
    ends = [*entries, way[0].kinds] if way and entries else []
    parts = bool(ends) and all("is part" in each for each in ends)
    why, gains = None, not mixed and any(each.weights for each in way)
    projects = mixed and alike and not bends(dropwhile(lambda each: not each.mixes, way))
    if not blends(made):
        why = "the branch takes each number by itself"
    elif parts and (not other or all("is item" in each for each in ends)):
        why = "two items of one tensor"
    elif mixed and not (projects and bends(made if other > mixed else branch_way)):
        why = "both sides mix what they come from"
    scaled = any("scales" in each.kinds and len(each.before) > 1 for each in way)
    changed = gains or scaled or bends(way)
    return Sum(stream, why, bool(mixed) or parts, changed, gains, made, common, not bends(made))


def _between(common, end, before="before"):
    """What is behind an end, and itself, as far as it is made of what is common."""
    todo, behind, made = [end], {end}, {*common}
    first = min(each.number for each in common)
    while todo:
        new = {each for each in getattr(todo.pop(), before) if each.number > first} - behind
        behind |= new
        todo += new
    for vertex in sorted(behind, key=attrgetter("number")):
        if not made.isdisjoint(getattr(vertex, before)):
            made.add(vertex)
    return made - common


def _apart(a, b):
    """marks: vertex -> 1 if behind a, 2 if behind b, 3 if behind both. ways: from a and from b the shortest way back to
    what both have, as (how often it mixes, steps), its end's number, its end, its vertices; none if they have nothing.
    """
    marks, ways, known, after = {a: 1}, [], ({a: (0, 0)}, {b: (0, 0)}), ({}, {})
    marks[b] = marks.get(b, 0) | 2
    heap, waiting = [(-each.number, each) for each in marks], {a, b} if a is not b else set()
    heapify(heap)
    while waiting:  # for each that is behind one alone; it comes after all that are made of it
        vertex = heappop(heap)[1]
        waiting.discard(vertex)
        mark = marks[vertex]
        if mark != 3:
            far, came = known[mark - 1], after[mark - 1]
            mixed, steps = far[vertex]
            one_on = mixed + vertex.mixes, steps + 1
        for each in vertex.before:
            seen = marks.get(each, 0)
            if not seen:
                heappush(heap, (-each.number, each))
            marks[each] = seen | mark
            (waiting.add if seen | mark != 3 else waiting.discard)(each)
            if mark != 3 and (each not in far or one_on < far[each]):
                far[each], came[each] = one_on, vertex
    for start, far, came in zip((a, b), known, after):
        if ends := [each for each in far if marks[each] == 3]:
            end = vertex = min(ends, key=lambda each: (far[each], each.number))
            way = []
            while vertex is not start:
                vertex = came[vertex]
                way.append(vertex)
            ways.append((far[end], end.number, end, way))
    return marks, ways

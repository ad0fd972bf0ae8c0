"""Forks: a net with one addition cut, for each of its additions, many of them in one pass.

Here lives how that is computed, and how it is found out where it cannot be; what is asked of the cuts lives in `asked`.
"""

import contextlib
import os
import warnings

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from .gates import Switches

# What stands for the stream and for the branch of an addition that is cut.
KINDS = {
    "skip": lambda x, f: (torch.zeros_like(x), f),
    "branch": lambda x, f: (x, torch.zeros_like(f)),
    "mean": lambda x, f: (x, _mean(f)),  # the branch says the same to all
    "others": lambda x, f: (x, (f.sum(0, keepdim=True) - f) / (len(f) - 1)),  # what it says to others, in the mean
    "another": lambda x, f: (x, f.roll(1, 0)),
    "negative": lambda x, f: (x, -f),
    "twice": lambda x, f: (x, 2 * f),
}
TOGETHER = 4  # so many rows are read out side by side
AT_ONCE = 16  # so many tensors as large as a run's largest are there at one moment, or fewer


def _mean(f):
    """The branch's mean over samples and places: of an image for each channel, else for each last feature."""
    kept = 1 if f.ndim == 4 else f.ndim - 1
    return f.mean([side for side in range(f.ndim) if side != kept], keepdim=True).expand_as(f)


class _Unfit(Exception):
    """Why a part of a model cannot hold many cuts in one pass."""


class _Enough(BaseException):
    """The part has run, and what comes after it need not."""


class _Theirs(BaseException):
    """An error of who looks is none of the model's."""


class Cuts(Switches):
    """A model with some of its residual additions cut, while `with` lasts: one, or each in a row of a growing batch.

    Row 0 is the whole. A row is as long as what the model is given; each cut adds one where it happens, so it shares
    all that comes before. rows: what they are, None for the whole. sizes: addition -> how long a row is there.
    """

    def __init__(self, gates, cuts, look=None, sizes=None):
        super().__init__(gates)
        self.cuts, self.look, self.sizes, self.grows = cuts, look, sizes or {}, sizes is not None
        self.rows, self.largest = [None] if self.grows or not cuts else list(cuts), 0

    def __enter__(self):
        self.added = None
        self.sums = _Sums(self).__enter__()  # beneath these gates, so that it sees what they add
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.sums.__exit__(*error)

    def meet(self, place, a, b, alpha, add):
        if place not in self.found:
            return super().meet(place, a, b, alpha, add)
        at, stream, first = self.found[place]
        self.waiting.discard(place)
        if a.shape != b.shape:
            a, b = torch.broadcast_tensors(a, b)
        x, f = (b, a) if stream else (a, b)
        if not first:
            f = self._rest(at, f)
            return add(f, x) if stream else add(x, f)
        before, stood = list(self.rows), x
        kinds = [kind for cut, kind in self.cuts if cut == at]
        if not self.grows:
            self.sizes[at] = len(x) if x.ndim else 0
        elif not x.ndim or len(x) % self.sizes[at]:
            raise _Unfit(f"the batch has another length in {place.module}, {place.line}")
        else:
            x, f = (_widened(end, self.sizes[at], len(self.rows)) for end in (x, f))
            stood = x
        if kinds and self.grows:
            self.rows += [(at, kind) for kind in kinds]
            x, f = self._grown(x, f, self.sizes[at], kinds)
        elif kinds:
            x, f = KINDS[kinds[0]](x, f)
        if self.look:
            self.look(before, at, "stream", stood.detach())
        self.added = at
        instead = (f, x) if stream else (x, f)
        return add() if instead[0] is a and instead[1] is b else add(*instead)

    def _rest(self, at, f):
        """What is added to a sum that has begun, of a branch that comes in several steps: cut in the same rows."""
        own = self.sizes[at] if f.ndim else 0
        f = _widened(f, own, len(self.rows)) if own else f
        mine = [
            KINDS[cut[1]](f, part)[1] if cut and cut[0] == at else part for cut, part in zip(self.rows, f.split(own))
        ]
        return torch.cat(mine)

    @staticmethod
    def _grown(x, f, own, kinds):
        more = zip(*(KINDS[kind](x[:own], f[:own]) for kind in kinds))
        return [torch.cat([end, *rows]) for end, rows in zip((x, f), more)]


class _Sums(TorchFunctionMode):
    """What gates add is looked at, and where it was to be written into a tensor, that one grows with it."""

    def __init__(self, cuts):
        super().__init__()
        self.cuts, self.total, self.largest = cuts, None, 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        cuts, last = self.cuts, self.total
        if func is torch.Tensor.copy_ and args[1] is last is not None and args[0].shape != last.shape:
            return args[0].set_(last)
        self.total = None
        try:
            total = func(*args, **kwargs or {})
        except (RuntimeError, ValueError):
            wide = _as_many((args, kwargs or {}), len(cuts.rows))
            if wide is None:
                raise
            total = func(*wide[0], **wide[1])
        if isinstance(total, torch.Tensor):
            self.largest = max(self.largest, total.nbytes)
        if cuts.added is not None:
            at, cuts.added, self.total, cuts.largest = cuts.added, None, total, self.largest
            if cuts.look:
                cuts.look(cuts.rows, at, "sum", total.detach())
        return total


def _widened(x, own, rows):
    """A tensor with a row for each of so many: to those that it lacks, as cut after it was made, row 0 is theirs."""
    lacks = rows - len(x) // own
    return torch.cat([x, *[x[:own]] * lacks]) if lacks else x


def _as_many(given, rows):
    """What a function was given, with all its tensors as long as the longest; None where that is no way."""
    tensors = [each for each in tree_flatten(given)[0] if isinstance(each, torch.Tensor) and each.ndim]
    own, over = divmod(max(map(len, tensors), default=0), rows)
    short = [each for each in tensors if own and 0 < len(each) < own * rows and len(each) % own == 0]
    if rows == 1 or over or not short:
        return None
    return tree_map(lambda x: _widened(x, own, rows) if any(x is each for each in short) else x, given)


def losses(gates, loss, cuts, look=None, megabytes=128):
    """The loss with each of these cuts, (len(cuts),), float64, and in words how they were computed.

    loss: runs the model, and may give several numbers, (n,), for (len(cuts), n). cuts: (addition, one of `KINDS`).
    look: called with (rows, addition, "stream" or "sum", that), before and after each; its errors come through.
    A pass holds so many cuts as fit into so many megabytes. It ends behind the part of the model that has all
    additions; from there on each row goes alone, so a loss sees one. Whether a part takes a batch that grows is found
    out by comparing one row with a run of its own; where it does not, each cut has a run of its own, under the same
    random numbers.
    """
    found, said = {}, []

    def seen(*given):
        try:
            look(*given)
        except Exception as error:
            raise _Theirs from error

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _forked(gates, loss, sorted(cuts), look and seen, megabytes, found, said)
        except _Theirs as error:
            raise error.__cause__ from None
    return torch.stack([found[cut] for cut in cuts]), " ".join(said)


def _forked(gates, loss, cuts, look, megabytes, found, said):
    """Fill `found` and `said`, by passes of many cuts, of the whole model or of its parts, or by a run for each."""
    trial = [cut for cut in cuts if cut[0] == cuts[0][0]]
    modules = {at: [part for part in gates.places[at].module.split(".") if part] for at, _ in cuts}
    common = os.path.commonprefix([*modules.values()])
    paths = [".".join(common[:end]) for end in range(len(common), -1, -1)]
    alone = Cuts(gates, trial[:1])
    with alone, _outputs(gates.model, paths) as given:
        found[trial[0]] = _numbers(_run(gates, loss))
    path = next((path for path in paths if len(given[path]) == 1), None)
    name = f"`{path}`" if path else type(gates.model).__name__
    try:
        if path is None:
            raise _Unfit("it runs more than once")
        whole, rest = given[path][0], cuts[len(trial) :]
        rough = max((torch.finfo(p.dtype).eps for p in gates.model.parameters() if p.is_floating_point()), default=0)
        size = max(int(megabytes / (alone.largest * AT_ONCE * 1e-6)) - 1, 1)
        groups = [trial, *(rest[at : at + size] for at in range(0, len(rest), size))]
        for group in groups:
            for cut, lost, output in _rows(gates, loss, path, group, look, alone.sizes, whole):
                if cut == trial[0] and not _close((lost.ravel()[0], output), (found[cut].ravel()[0], whole), rough):
                    raise _Unfit("a row comes out otherwise than in a run of its own")
                found[cut] = lost
        said.append(f"{name}: {len(cuts)} cuts in {len(groups)} passes.")
    except Exception as error:
        parts = {}
        for cut in cuts:
            parts.setdefault("".join(modules[cut[0]][len(common) :][:1]), []).append(cut)
        if 1 < len(parts) <= 4 and len(cuts) > 4 * len(parts):  # such as an encoder and a decoder
            for part in parts.values():
                _forked(gates, loss, part, look, megabytes, found, said)
            return
        why = str(error).split("\n")[0].rstrip(".")
        said.append(f"{name}: {len(cuts)} cuts in a run each, for it takes no batch that grows ({why}).")
        for cut in cuts:
            with Cuts(gates, [cut], look):
                found[cut] = _numbers(_run(gates, loss))


def _rows(gates, loss, path, group, look, sizes, whole):
    """One pass, and then for each cut: (cut, loss, what the part gave)."""
    forks = Cuts(gates, group, look, sizes)
    with forks, _outputs(gates.model, [path], enough=True) as given, contextlib.suppress(_Enough):
        _run(gates, loss)
    if forks.rows != [None, *group]:
        raise _Unfit("not every addition came")
    module = gates.model.get_submodule(path)
    for at in range(0, len(group), TOGETHER):
        here = group[at : at + TOGETHER]
        stacked, rebuilt = _stacked(given[path][0], whole, range(at + 1, at + 1 + len(here)))

        def alone(leaves, rebuilt=rebuilt):
            with _giving(module, rebuilt(leaves)):
                return torch.as_tensor(_run(gates, loss))

        try:  # a loss that sees one row, of several rows at once
            lost = torch.func.vmap(alone)(stacked)
        except Exception:
            lost = [alone([leaf[row] for leaf in stacked]) for row in range(len(here))]
        for row, cut in enumerate(here):
            yield cut, _numbers(lost[row]), rebuilt([leaf[row] for leaf in stacked])


def _run(gates, loss):
    with same_draws(gates.model):
        return loss()


def _numbers(lost):
    return torch.as_tensor(lost).detach().double().cpu()


def same_draws(model):
    """Afterwards torch's random numbers go on from where they are now, on the CPU and where the model is."""
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    return torch.random.fork_rng([] if device.type == "cpu" else [device], device_type=device.type)


@contextlib.contextmanager
def _outputs(model, paths, enough=False):
    """What these modules give, path -> list. enough: the first that has run ends the run."""
    given = {path: [] for path in paths}

    def keep(path, output):
        given[path].append(output)
        if enough:
            raise _Enough

    hooks = [
        model.get_submodule(path).register_forward_hook(lambda *run, path=path: keep(path, run[-1])) for path in paths
    ]
    try:
        yield given
    finally:
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def _giving(module, output):
    """A module that gives this, in place of running."""
    own = vars(module).get("forward")
    module.forward = lambda *given, **named: output
    try:
        yield
    finally:
        del module.forward
        if own is not None:
            module.forward = own


def _stacked(grown, whole, rows):
    """Of what a part gave, whose form for one row is `whole`: its tensors, (rows, ...), and what makes it of one's.

    What has fewer rows had not met a row's cut, which is there the whole's.
    """
    leaves, tree = tree_flatten(grown)
    stacked = {}
    for at, (each, like) in enumerate(zip(leaves, tree_flatten(whole)[0], strict=True)):
        if isinstance(each, torch.Tensor) and each.ndim:
            count, over = divmod(len(each), len(like))
            if over or each.shape[1:] != like.shape[1:]:
                raise _Unfit(f"of {tuple(like.shape)} it makes {tuple(each.shape)}")
            each = each.reshape(count, *like.shape)
            stacked[at] = (
                each[rows[0] : rows[-1] + 1] if rows[-1] < count else each[[row * (row < count) for row in rows]]
            )

    def rebuilt(own):
        own = dict(zip(stacked, own))
        return tree_unflatten([own.get(at, leaf) for at, leaf in enumerate(leaves)], tree)

    return list(stacked.values()), rebuilt


def _close(found, wanted, rough):
    """Whether two results are one but for rounding, in numbers as rough as the model's."""
    for a, b in zip(tree_flatten(found)[0], tree_flatten(wanted)[0]):
        if isinstance(a, float | torch.Tensor):
            a, b = torch.as_tensor(a), torch.as_tensor(b)
            room = max(torch.finfo(b.dtype).eps, rough) ** 0.5 if b.is_floating_point() else 0
            if not torch.allclose(
                a, b, rtol=room, atol=room * b.abs().nan_to_num(posinf=0).max().item(), equal_nan=True
            ):
                return False
    return True

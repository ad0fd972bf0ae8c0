"""Results that a page's claims rest on: measured over a grid with many seeds, kept, and asked again at each build,
where that takes no more than a second.

Here lives when a kept result may be shown. What it depends on is told by `plusx.measure.sources`, what may be said of
two arms by `plusx.measure.paired`, and tools/evidence.py makes what is missing, on the workers of
`plusx.measure.cluster` where PLUSX_SCHEDULER has the address of their scheduler.
"""

import contextlib
import hashlib
import itertools
import json
import os
import platform
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..training.sidebyside import without_bars
from .device import On
from .sources import sources

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "chapters" / "evidence"
BEGUN = ROOT / "_build" / "evidence"  # a file for each point that is done, also of a run that was stopped
QUICK = 1.0  # seconds: what takes longer to ask again is measured again each week, whole, by `tools/evidence.py --all`
SAME = 1e-3  # relative: rounding of one processor against another's, after some hundred steps in float64
OTHER_CODE = "the kept result was made by another"
ATEN = torch.ops.aten
ROUNDED = ATEN.mm, ATEN.bmm, ATEN.addmm, ATEN.baddbmm, ATEN.convolution, ATEN.convolution_backward


class Disagreement(Exception):
    """A kept result is not what the code on the page gives, or cannot be."""


def evidence(seeds, ask=True, **grid):
    """Decorate a function that measures one point of a grid; its name becomes an `Evidence` of all points.

    The function takes a list of seeds and one value for each argument of the grid. It gives {name: tensor}, seeds
    first; `loss` (seeds,) is what `Evidence.best` goes by.
    seeds: how many; they are 0, 1, 2 ...
    ask: whether a build runs again what is `QUICK`; not where that takes a model or data that no build has.
    grid: the values of each argument, JSON's strings and numbers. Seed 0 at the first of each is what a build
        runs again, if it is `QUICK`, so begin with what costs least, and with a net that does not amplify rounding.

    The result is read from chapters/evidence/FUNCTION.json as long as that was made by this code, this torch and
    this grid. Otherwise a notebook says what has changed and measures anew.

    Disagreement: the book is being built, and the file is missing, outdated, or not what the code gives; or it is
    being made, and on another processor the first point would not give it again.
    """

    def settled(function):
        result = Evidence(function, seeds, grid)
        result.settle(ask)
        print(result)
        asked = json.loads(os.environ.get("PLUSX_LARGER", "{}"))  # by tools/evidence.py --larger
        if asked.get("name") == result.name:
            result.enlarge(asked["seeds"], asked["grid"], asked["device"])
        return result

    return settled


class LastBit(TorchDispatchMode):
    """While it is entered, products of matrices and convolutions round otherwise, as they do on another processor.

    The same product is rounded the same way each time. One with zeros and ones alone is exact, here as there.
    """

    def __init__(self):
        super().__init__()
        self.lot = torch.Generator()

    def __torch_dispatch__(self, call, types, args=(), kwargs=None):
        given = call(*args, **(kwargs or {}))
        factors = args[1:3] if call.overloadpacket in (ATEN.addmm, ATEN.baddbmm) else args[:2]  # after what is added
        if call.overloadpacket in ROUNDED and not any(map(_selects, factors)):
            for each in given if isinstance(given, tuple) else [given]:
                if each is not None and each.is_floating_point():
                    bits = torch.randint(-1, 2, each.shape, generator=self.lot.manual_seed(0))
                    each.mul_(1 + torch.finfo(each.dtype).eps * bits.to(each.dtype))
        return given


class Evidence:
    """What a function measured at every point of a grid; calling it calls the function."""

    def __init__(self, function, seeds, grid, folder=None):
        self.function, self.name, self.grid = function, function.__name__, grid
        self.seeds = list(range(seeds))
        self.points = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
        self.made_by = dict(
            code=sources(function),
            torch=torch.__version__.partition("+")[0],
            dtype=str(torch.get_default_dtype()),
            seeds=seeds,
            grid=json.loads(json.dumps(grid)),
        )
        self.file = (folder or KEPT) / f"{self.name}.json"
        self.kept, self.fault = read(self.file)

    def settle(self, ask):
        """See that the kept result is that of this page, or measure; PLUSX_EVIDENCE is set by tools/evidence.py."""
        asked, built = os.environ.get("PLUSX_EVIDENCE"), os.environ.get("PLUSX_EXPLORE") == "static"
        change = self.change()
        if change and asked == "confirm":
            self.confirm(change)
        elif change and asked:
            self.kept = self.measure()
            self.round_otherwise()
            self.keep(self.seconds_to_ask())
        elif change and built:
            raise Disagreement(f"{self.name}: {change}. Run `make evidence`.")
        elif change:
            print(f"{self.name}: {change}. Measuring {self.extent()}:")
            self.kept = self.measure()
        elif asked in ("all", "sample"):
            try:
                self.compare(self.measure()) if asked == "all" else self.sample()
            except (FileNotFoundError, ImportError) as fault:
                if ask:
                    raise
                print(f"{self.name}: not measured anew. {fault}")
        elif ask and self.kept["asked"] <= QUICK and (fault := self.again()):
            if built:
                raise Disagreement(f"{fault} If that is right, remove {self.file.name} and run `make evidence`.")
            print(fault)

    @property
    def larger(self):
        """The same function over a larger grid, that no build asks again.

        Disagreement: none is kept, or it is outdated.
        """
        kept, _ = read(KEPT / "larger" / self.file.name)
        made_by = kept["made_by"] if kept else self.made_by
        found = Evidence(self.function, made_by["seeds"], made_by["grid"], KEPT / "larger")
        if change := found.change():
            raise Disagreement(f"{self.name}.larger: {change}. Run tools/evidence.py --larger {self.name}.")
        return found

    def enlarge(self, seeds, grid, device=None):
        """Measure over this grid, with the page's own values for arguments that it does not name.

        device: of torch, such as "cuda"; without one, the CPU.

        ValueError: it names what is no argument. Disagreement: at the page's own points the device gives other
        medians than the CPU gave.
        """
        if unknown := grid.keys() - self.grid.keys():
            raise ValueError(f"{self.name}: no argument {', '.join(unknown)}; there are {', '.join(self.grid)}.")
        made = Evidence(self.function, seeds or len(self.seeds), self.grid | grid, KEPT / "larger")
        if device:
            made.made_by["device"] = device
        if made.change() or made.kept["made_by"].get("device") != device:
            made.kept = made.measure()
            if made.points == self.points:
                self.compare(made.kept)
            made.keep(made.kept["seconds"])
        print(made)

    def __call__(self, seeds, **point):
        return self.function(seeds, **point)

    def __str__(self):
        where = " and ".join(self.kept.get("cards", [])) or "one core"
        return f"{self.name}: {self.extent()}, {self.kept['seconds'] / 60:.1f} minutes on {where}."

    def extent(self):
        """How much is measured, in words."""
        axes = [f"{len(values)} {name}" for name, values in self.grid.items() if len(values) > 1]
        fixed = [f"{name} {values[0]}" for name, values in self.grid.items() if len(values) == 1]
        across = f" ({' x '.join([*axes, f'{len(self.seeds)} seeds'])}{''.join(f', {each}' for each in fixed)})"
        return f"{len(self.points) * len(self.seeds):,} runs{across}"

    def change(self):
        """Why the kept result is not that of this page, in words; empty if it is."""
        if self.kept is None:
            return self.fault
        then = self.kept["made_by"]
        if then["code"] != self.made_by["code"]:
            names = sorted(dict(then["code"].items() ^ self.made_by["code"].items()))
            return f"{OTHER_CODE} {', '.join(names)}"
        for what in ("torch", "dtype", "seeds", "grid"):
            if then[what] != self.made_by[what]:
                return f"the kept result was made with {what} {then[what]}, and here it is {self.made_by[what]}"
        return ""

    def run(self, seeds, point):
        """What the function gives at one point, as nested lists of four digits."""
        with without_bars():
            given = self.function(seeds, **point)
        for name, values in given.items():
            if len(values) != len(seeds) or name in point:
                raise ValueError(
                    f"evidence: {self.name} gave {name} of shape {tuple(values.shape)}; expected a name that is "
                    f"none of its arguments, and {len(seeds)} seeds first."
                )
        return {name: _rounded(values.tolist()) for name, values in given.items()}

    def timed(self, point):
        """What is kept of one point: its values, and the seconds of one core that they took."""
        start = time.process_time()
        device = self.made_by.get("device")
        with On(device) if device else contextlib.nullcontext():
            values = self.run(self.seeds, point)
        return dict(values=values, seconds=time.process_time() - start, **dict(card=card(device)) if device else {})

    def measure(self):
        """All points; those that an earlier run of the same code has left are read.

        OSError: a point could not be written; what was written before it stays.
        """
        folder = BEGUN / f"{self.name}-{hashlib.sha256(json.dumps(self.made_by).encode()).hexdigest()[:12]}"
        folder.mkdir(parents=True, exist_ok=True)
        done = {}
        for number in range(len(self.points)):
            file = folder / f"{number}.json"
            result, fault = read(file)
            if result:
                done[number] = result
            elif file.exists():
                print(f"{self.name}: of {folder.name}, {fault}, and is measured anew.")
        missing = {number: point for number, point in enumerate(self.points) if number not in done}
        for number, result in self.counted(len(done), self.each(missing)):
            done[number] = result
            self.write(folder / f"{number}.json", result, len(done))
        return dict(
            made_by=self.made_by,
            seconds=round(sum(each["seconds"] for each in done.values())),
            values=[done[n]["values"] for n in range(len(done))],
            cards=sorted({each["card"] for each in done.values() if "card" in each}),
            on=arithmetic(),
        )

    def each(self, points):
        """(number, what is kept of it) of each point, as it comes."""
        if scheduler := os.environ.get("PLUSX_SCHEDULER"):
            from .cluster import spread  # the extra `cluster`, which no notebook needs

            yield from spread(scheduler, self, points)
        else:
            yield from ((number, self.timed(point)) for number, point in points.items())

    def counted(self, done, results):
        """Let results through: with a bar and the time left, or with a line each for tools/evidence.py."""
        if os.environ.get("PLUSX_EVIDENCE"):
            print(f"{self.name}: {done} of {len(self.points)}", flush=True)
            for more, result in enumerate(results, 1):
                yield result
                print(f"{self.name}: {done + more} of {len(self.points)}", flush=True)
        else:
            from tqdm.auto import tqdm  # in a notebook, a widget

            yield from tqdm(results, desc=self.name, initial=done, total=len(self.points))

    def write(self, file, result, done):
        """One point, whole or not at all."""
        part = file.with_suffix(".part")
        try:
            part.write_text(json.dumps(dict(seal=seal(result["values"]), **result)))
            part.rename(file)
        except OSError as fault:
            part.unlink(missing_ok=True)
            raise OSError(
                f"evidence: {self.name}, point {done} of {len(self.points)}: {file} could not be written "
                f"({fault.strerror}). Those before it are kept; make room, and run it again."
            ) from fault

    def keep(self, asked):
        """Write the result, a line for each point. asked: how many seconds it takes to ask again."""
        told = dict(made_by=self.made_by, seconds=self.kept["seconds"], asked=asked, seal=seal(self.kept["values"]))
        told |= {name: self.kept[name] for name in ("cards", "on", "confirmed", "sampled") if self.kept.get(name)}
        head = json.dumps(dict(**told, values=[]))
        rows = ",\n".join(json.dumps(each, separators=(",", ":")) for each in self.kept["values"])
        self.file.parent.mkdir(exist_ok=True, parents=True)
        self.file.write_text(f"{head[:-2]}\n{rows}\n]}}\n")

    def again(self):
        """Run seed 0 at the first point: a sentence if it does not give what was kept, relative to `SAME`."""
        for name, new in self.run([0], self.points[0]).items():
            old = self.kept["values"][0][name][:1]
            if not np.allclose(new, old, rtol=SAME, atol=SAME**2, equal_nan=True):
                return f"{self.name}, seed 0 at the first point: {name} is {new}, and the kept result says {old}."
        return ""

    def seconds_to_ask(self):
        """Of one core, to a tenth."""
        start = time.process_time()
        self.again()
        return round(time.process_time() - start, 1)

    def round_otherwise(self):
        """Disagreement: the first point would not come out again where products are rounded otherwise."""
        with LastBit():
            fault = self.again()
        if fault:
            raise Disagreement(
                f"{fault} Only rounding differs, as it does from processor to processor. Begin the grid with another "
                f"point than {self.points[0]}."
            )

    def confirm(self, change):
        """Take over what was kept by other code, where this code gives the same numbers for a share of the seeds at
        every point. The file says for how many.

        Disagreement: more than the code has changed, or a number has.
        """
        if not change.startswith(OTHER_CODE):
            raise Disagreement(f"{self.name}: {change}. Run `make evidence`.")
        seeds = self.seeds[: max(2, len(self.seeds) // 20)]
        for point, then in zip(self.points, self.kept["values"]):
            if then.keys() != (now := self.run(seeds, point)).keys():
                raise Disagreement(
                    f"{self.name} at {point}: it gives {', '.join(now)}, and kept are {', '.join(then)}."
                )
            for name in then:
                old = then[name][: len(seeds)]
                if not np.allclose(now[name], old, rtol=SAME, atol=SAME**2, equal_nan=True):
                    raise Disagreement(f"{self.name} at {point}: {name} comes out otherwise. Run `make evidence`.")
        self.kept |= dict(made_by=self.made_by, confirmed=f"{len(seeds)} of {len(self.seeds)} seeds, {arithmetic()}")
        self.keep(self.kept["asked"])

    def sample(self):
        """Measure the first and the last point again with three seeds: their range meets the kept one's. The file says
        in which arithmetic.

        Disagreement: naming the first that does not.
        """
        for at in sorted({0, len(self.points) - 1}):
            now = self.run(self.seeds[:3], self.points[at])
            for name, values in self.kept["values"][at].items():
                old, new = np.array(values, float), np.array(now[name], float)
                room = SAME * np.abs(old).max(0) + SAME**2
                apart = (new.min(0) > old.max(0) + room) | (new.max(0) < old.min(0) - room)
                if apart.any():
                    raise Disagreement(f"{self.name} at {self.points[at]}: {name} is outside the kept range.")
        self.kept["sampled"] = sorted({*self.kept.get("sampled", []), arithmetic()})
        self.keep(self.kept["asked"])

    def compare(self, new):
        """Other processors lead single runs elsewhere: each new median lies within the kept seeds' range.

        Disagreement: naming the first that does not.
        """
        for point, then, now in zip(self.points, self.kept["values"], new["values"]):
            for name in then:
                seeds, median = np.array(then[name]), np.median(now[name], axis=0)
                room = SAME * np.abs(seeds).max(0)
                if not np.all((seeds.min(0) - room <= median) & (median <= seeds.max(0) + room)):
                    raise Disagreement(f"{self.name} at {point}: the new median of {name} is outside the kept range.")

    def at(self, **point):
        """One point: its settings and measures as attributes, measures (seeds, ...).

        Arguments with one value need not be named. LookupError: no such point.
        """
        asked = {name: values[0] for name, values in self.grid.items() if len(values) == 1} | point
        if asked not in self.points:
            raise LookupError(f"{self.name}.at: no point {asked}; the grid is {self.grid}.")
        values = self.kept["values"][self.points.index(asked)]
        return SimpleNamespace(**asked, **{name: torch.tensor(value) for name, value in values.items()})

    def best(self, over, **point):
        """The point with the lowest median loss over the values of one argument, such as the learning rate."""
        found = [self.at(**point, **{over: value}) for value in self.grid[over]]
        return min(found, key=lambda each: np.median(each.loss))


def read(file):
    """(what a file keeps, "") or (None, what is wrong with it)."""
    if not file.exists():
        return None, f"there is no kept result {file.name}"
    try:
        found = json.loads(file.read_text())
        whole = found["seal"] == seal(found["values"])
    except (ValueError, KeyError, TypeError):
        whole = False
    return (found, "") if whole else (None, f"{file.name} is cut off, or was edited")


def arithmetic():
    """By what this process rounds: torch's vector units, its library for matrices, and what was asked of that."""
    asked = [os.environ[name] for name in ("MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS") if name in os.environ]
    library = "MKL" if torch.backends.mkl.is_available() else "no MKL"
    return " ".join([platform.machine(), torch.backends.cpu.get_cpu_capability(), library, *asked])


def card(device):
    """The name of an accelerator, or the device's own where it has none."""
    return getattr(torch.get_device_module(device), "get_device_name", str)(device)


def seal(values):
    """A hash by which values tell that they are as they were written."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:12]


def _selects(factor):
    return isinstance(factor, torch.Tensor) and bool(((factor == 0) | (factor == 1)).all())


def _rounded(values):
    return [_rounded(each) for each in values] if isinstance(values, list) else float(f"{values:.4g}")

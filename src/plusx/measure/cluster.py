"""Points of kept evidence on the workers of dask.distributed, in this machine or in many.

Needs the extra `cluster`. A worker needs this package as it is here, and the same torch; what a chapter defines
travels to it.
"""

import functools
import hashlib
import io
from pathlib import Path

import cloudpickle
import torch
from distributed import Client, KilledWorker, as_completed

PACKAGE = Path(__file__).parents[1]


def spread(address, evidence, points):
    """(number, what is kept of it) of each of `points`, {number: settings}, as workers are done with it.

    address: of a scheduler, such as tcp://10.0.0.1:8786.

    A point whose worker dies runs again on another. OSError: nothing answers at the address. RuntimeError: a worker
    has another torch or another code, or one point has ended four workers.
    """
    client = connected(address)
    # A task, and not data that is scattered: the scheduler makes it again when the worker that had it is gone.
    packed = client.submit(bytes, pack(evidence), pure=False)
    tasks = {
        client.submit(point_on_worker, packed, point, code(), str(torch.get_default_dtype()), pure=False): number
        for number, point in points.items()
    }
    try:
        # With results: they leave their worker at once. A task that is still held when its worker dies runs again.
        for task, result in as_completed(list(tasks), with_results=True):
            number = tasks.pop(task)
            task.release()
            yield number, result
    except KilledWorker as fault:
        point = next(points[number] for task, number in tasks.items() if task.key == fault.task)
        raise RuntimeError(
            f"evidence: {evidence.name} at {point} ended {fault.allowed_failures + 1} workers; expected that it fits "
            "one. Give workers more memory."
        ) from fault
    finally:
        client.cancel(list(tasks))


@functools.cache
def connected(address):
    return Client(address, timeout=10)


@functools.cache
def code():
    """Of this package and torch, a hash."""
    found = hashlib.sha256(torch.__version__.partition("+")[0].encode())
    for file in sorted(PACKAGE.rglob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()[:12]


def point_on_worker(packed, point, expected, dtype):
    """What `Evidence.timed` gives, rounded as it is on one core of the machine that asks."""
    if code() != expected:
        raise RuntimeError(f"evidence: a worker has code {code()}, and {expected} was expected: update it there.")
    torch.set_num_threads(1)
    torch.set_default_dtype(getattr(torch, dtype.removeprefix("torch.")))
    return unpack(packed).timed(point)


class Pickler(cloudpickle.Pickler):
    """Packs a function of a notebook with all that it calls there; `functools.cache` keeps its cache on the worker."""

    def reducer_override(self, found):
        if isinstance(found, functools._lru_cache_wrapper) and found.__module__ == "__main__":
            return cached, (pack(found.__wrapped__),)
        return super().reducer_override(found)


def pack(found):
    file = io.BytesIO()
    Pickler(file).dump(found)
    return file.getvalue()


@functools.cache
def unpack(packed):
    """Once for all points that a worker gets."""
    return cloudpickle.loads(packed)


@functools.cache
def cached(packed):
    """One cache for all that lead to the same function."""
    return functools.cache(cloudpickle.loads(packed))

"""How fast points of kept evidence are measured: one after the other here, and on one and two workers. `make bench`"""

import sys
import time

import cloudpickle
import psutil
import torch
from distributed import LocalCluster

from plusx.measure.cluster import connected, spread
from plusx.measure.kept import Evidence

POINTS, SECONDS = 150, 0.1


def burnt(seeds, number):
    until = time.process_time() + SECONDS
    x = torch.eye(32)
    while time.process_time() < until:
        x = torch.tanh(x @ x)
    return dict(loss=torch.tensor([float(number) for _ in seeds]))


def timed(results):
    start = time.perf_counter()
    count = len(list(results))
    return count / (time.perf_counter() - start)


def test_points_a_second_here_and_on_workers():
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    evidence = Evidence(burnt, 1, dict(number=list(range(POINTS))))
    points = dict(enumerate(evidence.points))
    here = timed(evidence.timed(point) for point in points.values())
    said = [f"one after the other {here:.2f}"]
    for workers in (1, 2):
        with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster:
            list(spread(cluster.scheduler_address, evidence, dict(list(points.items())[: 2 * workers])))  # imports
            rate = timed(spread(cluster.scheduler_address, evidence, points))
            memory = [psutil.Process(each.process.pid).memory_info().rss / 2**20 for each in cluster.workers.values()]
            connected(cluster.scheduler_address).close()
        said.append(
            f"{workers} workers {rate:.2f} (overhead {1000 * (workers / rate - 1 / here):.0f} ms a point of "
            f"{1000 * SECONDS:.0f}, {max(memory):.0f} MB each)"
        )
        assert rate > 0.5 * workers * here
    print("\npoints a second: " + "; ".join(said))

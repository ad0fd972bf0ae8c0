"""Kernels that begin with torch imported: forked from one process that imports once what every chapter does.

As a program that process: it reads a line of JSON for each kernel, forks it, and answers with its number.
"""

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
from importlib.metadata import EntryPoint

import psutil
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

# The optimisers of torch import its compiler when the first is made.
IMPORTED = ["ipykernel.kernelapp", "torch", "torch._dynamo", "matplotlib.figure", "plusx.measure", "plusx.explore"]
IMPORTED += ["plusx.show", "plusx.nets.switched"]


class Forked(psutil.Process):
    """What a provisioner asks of `subprocess.Popen`, of a process that is another's child."""

    stdin = stdout = stderr = None

    def poll(self):
        return None if self.is_running() else 0

    def send_signal(self, number):
        with contextlib.suppress(psutil.NoSuchProcess):
            super().send_signal(number)


class Warm(LocalProvisioner):
    """Launches kernels where `warm` is entered."""

    source = None  # the process that forks them

    async def launch_kernel(self, cmd, **given):
        given = self._scrub_kwargs(given)
        asked = dict(argv=cmd, cwd=given.get("cwd"), env=dict(given["env"]))
        self.source.stdin.write(json.dumps(asked) + "\n")
        self.source.stdin.flush()
        number = self.source.stdout.readline()
        if not number:
            raise RuntimeError("warm: the process that forks kernels has ended; its error stands above.")
        self.process = Forked(int(number))
        self.pid = self.process.pid
        return self.connection_info


@contextlib.contextmanager
def warm():
    """While entered, every kernel of this process is a fork; on systems that fork safely after such imports."""
    if sys.platform != "linux":
        yield
        return
    factory = KernelProvisionerFactory.instance()
    factory.provisioners["warm"] = EntryPoint("warm", "warm:Warm", factory.GROUP_NAME)
    usual, factory.default_provisioner_name = factory.default_provisioner_name, "warm"
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as source:
        Warm.source = source
        try:
            yield
        finally:
            source.stdin.close()
            factory.default_provisioner_name = usual


def become(argv, cwd, env):
    """Run a kernel as `python -m ipykernel_launcher` would, in this process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # not the pipe on which numbers are told
    os.chdir(cwd)
    os.environ.clear()
    os.environ |= env
    del sys.path[0]  # the folder of this file
    ends_with = f"--IPKernelApp.parent_handle={os.getppid()}"
    sys.argv = [*argv[argv.index("ipykernel_launcher") :], ends_with]
    importlib.import_module("ipykernel.kernelapp").launch_new_instance()


def main():
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")  # as ipykernel does
    for name in IMPORTED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who has ended leaves no trace
    for line in sys.stdin:
        if pid := os.fork():
            print(pid, flush=True)
        else:
            return become(**json.loads(line))


if __name__ == "__main__":
    main()

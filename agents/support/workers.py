"""Does a list of independent pieces of work: in this process, in several, or on a Ray cluster.

A piece is whole: a training, an evaluation, points of a sweep; never a step. A piece that fails does not stop the rest,
and a piece whose process or node dies is begun again elsewhere. (joblib is no replacement: a worker that dies ends all
of its pieces, and none is begun again.)
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import platform
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, NamedTuple

from . import progress
from .progress import progress_bar

RETRIES = 2
"""How often a piece is begun again after its process or node has died."""

DIED = f"a process died, and again in each of {RETRIES} tries"


class Unfinished(RuntimeError):
    """Pieces of the work have failed; what the others found is kept."""


class Outcome(NamedTuple):
    """Outcome of a piece: its name, the value that its function returned, and the error in one line or None."""

    name: str
    value: Any
    error: str | None


Pieces = Mapping[str, Sequence[Any]]
"""Arguments of each piece by its name: plain values."""


class Workers:
    """Do pieces of work in this process, one after another; other workers are subclasses."""

    count = 1
    """Number of pieces that are done at the same time."""

    def work(self, function: Callable[..., Any], pieces: Pieces) -> Iterator[Outcome]:
        """Call a function with the arguments of each piece; outcomes come in the order in which pieces end.

        The function is one of a module, so that other processes find it; what it returns travels back.
        """
        for name, arguments in pieces.items():
            yield _called(name, function, arguments)

    def close(self) -> None:
        """End the processes, or leave the cluster."""


HERE = Workers()
"""All pieces in this process."""


@contextmanager
def workers(processes: int = 1, ray: str | None = None) -> Iterator[Workers]:
    """Start workers, and close them at the end of the block.

    Args:
        processes: Pieces at the same time; with 1 all is done in this process.
        ray: Address of a Ray cluster instead, such as ``10.0.0.1:6379``; with ``""`` the one that ``RAY_ADDRESS``
            names, or that runs on this machine, or else one of this machine's cores for as long as the work takes.

    Raises:
        ValueError, ImportError: If both are given, or there is no such cluster; if Ray is not installed.
    """
    if ray is not None and processes != 1:
        raise ValueError(f"processes must be left out where ray is given, got {processes!r}")
    if not 1 <= processes <= 1024:
        raise ValueError(f"processes must be within [1, 1024], got {processes!r}")
    engine = _Ray(ray) if ray is not None else HERE if processes == 1 else _Processes(processes)
    try:
        yield engine
    finally:
        engine.close()


def watched(
    outcomes: Iterator[Outcome], count: int, unit: str, initial: int = 0, leave: bool = True
) -> Iterator[Outcome]:
    """Pass on ``count`` outcomes, and show progress and failures; ``initial`` pieces were done before."""
    failed = 0
    with progress_bar(total=initial + count, initial=initial, unit=unit, leave=leave) as bar:
        for outcome in outcomes:
            if outcome.error is not None:
                failed += 1
                bar.write(f"{outcome.name} failed: {outcome.error}")
            bar.set_postfix_str(f"{outcome.name}, {failed} failed, {bar.total - bar.n - 1} left", refresh=False)
            bar.update()
            yield outcome


def _called(name: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Outcome:
    try:
        return Outcome(name, function(*arguments), None)
    except Exception as error:  # whatever it is, the rest of the work goes on
        return Outcome(name, None, f"{type(error).__name__}: {' '.join(str(error).split())}")


def _begin_worker() -> None:
    """End with the process that gave the work, also if it is killed; leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    progress.display = False
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)  # else two would write one run folder, when the same command is given again

    threading.Thread(target=follow, daemon=True).start()


class _Processes(Workers):
    """Some processes of this machine, a pool for each, so that one that dies leaves the others alone."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._free: list[ProcessPoolExecutor] = []
        self._running: dict[Future[Outcome], tuple[Any, ProcessPoolExecutor]] = {}

    def work(self, function: Callable[..., Any], pieces: Pieces) -> Iterator[Outcome]:
        waiting = [(name, arguments, RETRIES) for name, arguments in pieces.items()][::-1]
        running = self._running
        while waiting or running:
            while waiting and len(running) < self.count:
                piece = waiting.pop()
                pool = self._free.pop() if self._free else self._pool()
                running[pool.submit(_called, piece[0], function, piece[1])] = piece, pool
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                (name, arguments, tries), pool = running.pop(future)
                try:
                    outcome = future.result()
                except BrokenProcessPool:
                    pool.shutdown(wait=False)
                    if tries:
                        waiting.append((name, arguments, tries - 1))
                        continue
                    outcome = Outcome(name, None, DIED)
                else:
                    self._free.append(pool)
                yield outcome

    def close(self) -> None:
        if self._running:  # interrupted
            for process in multiprocessing.active_children():
                process.terminate()
        for pool in (*self._free, *(pool for _, pool in self._running.values())):
            pool.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def _pool() -> ProcessPoolExecutor:
        # Forked, threads and compiled kernels would be in any state.
        return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin_worker)


class _Ray(Workers):
    """Cores of a Ray cluster, one for each piece."""

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError:
            raise ImportError("ray is not installed: pip install 'gymnosoma[ray]'") from None
        self._ray: Any = ray
        self._own = not ray.is_initialized()
        if self._own:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # tells nobody
            host, _, port = address.rpartition("/")[2].rpartition(":")
            try:
                if port.isdigit():  # else Ray waits for minutes
                    socket.create_connection((host, int(port)), 10.0).close()
                before = signal.getsignal(signal.SIGTERM)
                self._join(address or os.environ.get("RAY_ADDRESS", ""))
                if signal.getsignal(signal.SIGTERM) is not before:  # Ray has set its own
                    signal.signal(signal.SIGTERM, before)
            except (OSError, ValueError, RuntimeError, OverflowError, ray.exceptions.RayError) as error:
                said = " ".join(str(error).split())[:200]
                raise ValueError(
                    f"ray must be the address of a Ray cluster that runs, got {address!r}: {said}"
                ) from None
        self.count = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self._task = ray.remote(max_retries=RETRIES, num_cpus=1)(_called_in)

    def _join(self, address: str) -> None:
        """Join a cluster, by default one that runs on this machine; without one begin one of our own."""
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            self._ray.init(address or "auto", **quiet)
        except ConnectionError:
            if address:
                raise
            # Ray's ports run what anybody sends them: a cluster of our own listens to this machine alone. Ray has that
            # for systems whose firewalls would ask; its processes, and what it has read already, are told.
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
            self._ray._private.ray_constants.ENABLE_RAY_CLUSTER = False
            self._ray.init("local", **quiet)

    def work(self, function: Callable[..., Any], pieces: Pieces) -> Iterator[Outcome]:
        ray, folder = self._ray, os.getcwd()
        running = {self._task.remote(folder, name, function, arguments): name for name, arguments in pieces.items()}
        try:
            while running:
                (ref, *_), _ = ray.wait(list(running), num_returns=1)
                name = running.pop(ref)
                try:
                    outcome = ray.get(ref)
                except ray.exceptions.RayError as error:  # what the function raises has been caught
                    outcome = Outcome(name, None, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
                yield outcome
        finally:
            for ref in running:
                ray.cancel(ref, force=True)

    def close(self) -> None:
        if self._own:
            self._ray.shutdown()


def _called_in(folder: str, name: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Outcome:
    """Call where the command was given, so that its paths mean the same: a cluster shares that folder."""
    try:
        os.chdir(folder)
    except OSError as error:
        said = f"folder {folder!r} must be one that all nodes share, {platform.node()!r} has none: {error.strerror}"
        return Outcome(name, None, said)
    progress.display = False
    return _called(name, function, arguments)

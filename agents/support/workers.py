"""Workers for independent pieces of work: in this process, in several processes, or on a Ray cluster.

A piece is a whole training, an evaluation or a part of a sweep. If a piece fails, the other pieces continue. If a
process or node dies, its piece is restarted elsewhere. (joblib cannot do this: a dead worker ends all pieces.)
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

from gymnosoma.envs.core.arguments import printable

from . import progress
from .progress import progress_bar

RETRIES = 2
"""Maximum number of restarts of a piece whose process or node died."""

DIED = f"a process died, and again in each of {RETRIES} tries"


class Unfinished(RuntimeError):
    """Error if pieces of the work failed; results of the remaining pieces are saved."""


class Outcome(NamedTuple):
    """Outcome of a piece: its name, the return value of its function, and a one-line error message or None."""

    name: str
    value: Any
    error: str | None


Pieces = Mapping[str, Sequence[Any]]
"""Arguments of each piece, by name of the piece; all values can be pickled."""


class Workers:
    """Workers that run pieces in this process, one after another. Base class of all workers."""

    count = 1
    """Number of pieces that run in parallel."""

    def work(self, function: Callable[..., Any], pieces: Pieces) -> Iterator[Outcome]:
        """Call a function with the arguments of each piece, and yield outcomes in the order of completion.

        The function must be defined at module level, and its return value must be picklable.
        """
        for name, arguments in pieces.items():
            yield _called(name, function, arguments)

    def close(self) -> None:
        """Stop the processes, or disconnect from the cluster."""


HERE = Workers()
"""Workers that run all pieces in this process."""


@contextmanager
def workers(processes: int = 1, ray: str | None = None) -> Iterator[Workers]:
    """Start workers, and close them at the end of the block.

    Args:
        processes: Number of processes; 1 runs all pieces in this process.
        ray: Address of a Ray cluster, such as ``10.0.0.1:6379``. ``""`` selects the cluster in ``RAY_ADDRESS`` or the
            one running on this machine; if there is none, a temporary cluster on this machine is started.

    Raises:
        ValueError: If both arguments are used, a value is out of range, or the cluster cannot be reached.
        ImportError: If Ray is not installed.
    """
    if ray is not None and processes != 1:
        raise ValueError(f"processes must be left out if ray is used, got {processes!r}")
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
    """Yield ``count`` outcomes while showing progress and failures; ``initial`` pieces were finished before."""
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
    except Exception as error:  # any error; the remaining pieces continue
        return Outcome(name, None, printable(f"{type(error).__name__}: {error}"))


def _begin_worker() -> None:
    """Ignore Ctrl-C in a worker process, and end it when the parent process ends, even if that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    progress.display = False
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)  # a repeated command must not meet a second writer in its run folder

    threading.Thread(target=follow, daemon=True).start()


class _Processes(Workers):
    """Processes on this machine, each with a separate pool, so that a dead process does not affect the rest."""

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
        # A fork would copy threads and compiled kernels in an undefined state.
        return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin_worker)


class _Ray(Workers):
    """Workers on a Ray cluster, with one core per piece."""

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError:
            raise ImportError("ray is not installed: pip install 'gymnosoma[ray]'") from None
        self._ray: Any = ray
        self._own = not ray.is_initialized()
        if self._own:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # sends no usage statistics
            host, _, port = address.rpartition("/")[2].rpartition(":")
            try:
                if port.isdigit():  # fail early; Ray would wait for minutes
                    socket.create_connection((host, int(port)), 10.0).close()
                before = signal.getsignal(signal.SIGTERM)
                self._join(address or os.environ.get("RAY_ADDRESS", ""))
                if signal.getsignal(signal.SIGTERM) is not before:  # Ray replaced the handler
                    signal.signal(signal.SIGTERM, before)
            except (OSError, ValueError, RuntimeError, OverflowError, ray.exceptions.RayError) as error:
                text = printable(error)[:200]
                raise ValueError(f"ray must be the address of a running Ray cluster, got {address!r}: {text}") from None
        self.count = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self._task = ray.remote(max_retries=RETRIES, num_cpus=1)(_called_in)

    def _join(self, address: str) -> None:
        """Connect to a cluster, by default the one running on this machine, or start a temporary one."""
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            self._ray.init(address or "auto", **quiet)
        except ConnectionError:
            if address:
                raise
            # Ray's ports execute any code sent to them, so the temporary cluster listens on this machine only. Ray has
            # this mode for systems with a firewall prompt. Set it for its processes and for the imported module.
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
                except ray.exceptions.RayError as error:  # errors of the function are caught in _called
                    outcome = Outcome(name, None, printable(f"{type(error).__name__}: {error}")[:200])
                yield outcome
        finally:
            for ref in running:
                ray.cancel(ref, force=True)

    def close(self) -> None:
        if self._own:
            self._ray.shutdown()


def _called_in(folder: str, name: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Outcome:
    """Call a function in the folder of the command, which all nodes share, so that relative paths are the same."""
    try:
        os.chdir(folder)
    except OSError as error:
        reason = f"folder {folder!r} must be shared by all nodes, {platform.node()!r} cannot open it: {error.strerror}"
        return Outcome(name, None, reason)
    progress.display = False
    return _called(name, function, arguments)

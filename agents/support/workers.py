"""Independent jobs on an executor of `concurrent.futures`, or in this process.

A job is a whole training or an evaluation. If a job fails, the other jobs continue. `Processes` and `RayExecutor`
restart a job whose process died. (joblib cannot do this: a dead worker ends all jobs.)
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from gymnosoma.envs.core.arguments import library, printable, shown

from . import files, progress
from .progress import progress_bar

RETRIES = 2
"""Maximum number of restarts of a job whose process died."""

DIED = f"a process died, and again in each of {RETRIES} tries"

REACHABLE = 5.0
"""Time (s) within which a Ray cluster must answer."""

WATCH = 2.0
"""Time (s) between two looks at the nodes of a cluster."""

LEASE = 120.0
"""Time (s) that a job on a cluster waits for a locked folder: NFS keeps the lock of a dead machine for 90 s."""


class Unfinished(RuntimeError):
    """Error if jobs failed; results of the remaining jobs are saved."""


class Unguarded(RuntimeError):
    """Error if a script starts processes outside of ``if __name__ == "__main__":``, as each of them runs the script."""

    def __init__(self) -> None:
        super().__init__(
            'processes run this script again: put its calls below `if __name__ == "__main__":`, or use processes=1'
        )


class Outcome(NamedTuple):
    """Outcome of a job: its name, the return value of its function, and a one-line error message or None."""

    name: str
    value: Any
    error: str | None


Jobs = Mapping[str, Sequence[Any]]
"""Arguments of each job, by name of the job; all values can be pickled."""


def run_jobs(
    executor: Executor | None,
    function: Callable[..., Any],
    jobs: Jobs,
    unit: str,
    initial: int = 0,
    leave: bool = True,
    save: Callable[[str, Any], None] | None = None,
) -> dict[str, Outcome]:
    """Call a function with the arguments of each job, and show progress and failures.

    Args:
        executor: Any executor, such as that of `workers`; None runs the jobs in this process, one after another.
        function: Function at module level, with a return value that can be pickled.
        jobs: Arguments of each job.
        unit: Word for a job in the progress bar.
        initial: Number of jobs that were finished before.
        leave: Whether the bar stays after the last job.
        save: Function that this process calls with the name and the value of each job when it has finished. An error
            counts as the job's. The values are not returned.

    Returns:
        dict: Outcomes by name, in the order of the jobs.
    """
    failed, ended = 0, {}
    with progress_bar(total=initial + len(jobs), initial=initial, unit=unit, leave=leave) as bar:
        for outcome in _outcomes(executor, function, jobs):
            if save is not None and outcome.error is None:
                outcome = _called(outcome.name, save, (outcome.name, outcome.value))
            if outcome.error is not None:
                failed += 1
                bar.write(f"{outcome.name} failed: {outcome.error}")
            bar.set_postfix_str(f"{outcome.name}, {failed} failed, {bar.total - bar.n - 1} left", refresh=False)
            bar.update()
            ended[outcome.name] = outcome
    return {name: ended[name] for name in jobs}


def values_of(outcomes: Mapping[str, Outcome], advice: str = "") -> list[Any]:
    """Return the values of jobs; raise Unfinished, with errors and ``advice``, if some have failed."""
    if failed := [f"{name}: {outcome.error}" for name, outcome in outcomes.items() if outcome.error is not None]:
        raise Unfinished("; ".join(failed) + advice)
    return [outcome.value for outcome in outcomes.values()]


def _outcomes(executor: Executor | None, function: Callable[..., Any], jobs: Jobs) -> Iterator[Outcome]:
    """Yield the outcomes in the order of completion."""
    if executor is None:
        for name, arguments in jobs.items():
            yield _called(name, function, arguments)
        return
    names = {executor.submit(_called, name, function, arguments): name for name, arguments in jobs.items()}
    for future in as_completed(names):
        error = future.exception()
        if isinstance(error, Unguarded):
            raise error
        yield future.result() if error is None else Outcome(names[future], None, printable(error))


def _called(name: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Outcome:
    try:
        return Outcome(name, function(*arguments), None)
    except Exception as error:  # any error; the remaining jobs continue
        return Outcome(name, None, printable(f"{type(error).__name__}: {error}"))


@contextmanager
def workers(processes: int = 1, ray: str | None = None) -> Iterator[Executor | None]:
    """Start processes or connect to a Ray cluster for `run_jobs`; the jobs end at the end of the block.

    Args:
        processes: Number of processes; 1 means this process, None.
        ray: Address of a Ray cluster, see `RayExecutor`.

    Raises:
        ValueError: If the number is out of range, if both arguments are used, or if the cluster does not answer.
        ImportError: If Ray is not installed.
        Unguarded: If a script starts the processes while it is imported; raised by `run_jobs`.
    """
    if not 1 <= processes <= 1024:
        raise ValueError(f"processes must be within [1, 1024], got {processes!r}")
    if ray is not None:
        if processes > 1:
            raise ValueError(f"processes must be left out with ray, got {processes!r}")
        with RayExecutor(ray) as cluster:
            yield cluster
    elif processes == 1:
        yield None
    else:
        if getattr(multiprocessing.current_process(), "_inheriting", False):  # it imports the script of its parent
            sys.exit(1)
        with Processes(processes) as executor:
            yield executor


class Processes(ThreadPoolExecutor):
    """Executor with processes on this machine. Each thread has one process, and restarts it if it dies.

    Separate pools keep a dead process from affecting the rest. At the end of a ``with`` block, jobs that are still
    running are stopped.
    """

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._own = threading.local()
        self._pools: list[ProcessPoolExecutor] = []
        self._stopped = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in a process; the error is BrokenProcessPool if the process dies in every try."""
        return super().submit(self._restarted, function, *args, **kwargs)

    def _restarted(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        for _ in range(1 + RETRIES):
            if not hasattr(self._own, "pool"):
                # A fork would copy threads and compiled kernels in an undefined state.
                context = multiprocessing.get_context("spawn")
                self._own.begun = context.Event()
                self._own.pool = ProcessPoolExecutor(1, context, _begin_worker, (self._own.begun,))
                self._pools.append(self._own.pool)
            try:
                return self._own.pool.submit(function, *args, **kwargs).result()
            except BrokenProcessPool:
                if self._stopped:
                    raise
                unguarded = not self._own.begun.is_set() and not _is_guarded()
                self._own.pool.shutdown(wait=unguarded)
                if unguarded:
                    raise Unguarded from None
                del self._own.pool
        raise BrokenProcessPool(DIED)

    def __exit__(self, *error: object) -> None:
        """Stop all processes."""
        self._stopped = True
        self.shutdown(wait=False, cancel_futures=True)
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)  # from now on, none starts a process
        if any(error):  # interrupted
            for process in multiprocessing.active_children():
                process.terminate()


def _is_guarded() -> bool:
    """Return whether the main module mentions ``__main__``; one without a file is not imported by processes."""
    path = getattr(sys.modules["__main__"], "__file__", None)
    return path is None or not Path(path).is_file() or "__main__" in Path(path).read_text("utf-8", "replace")


def _begin_worker(begun: Event) -> None:
    """Ignore Ctrl-C in a worker process, and end it when the parent process ends, even if that is killed."""
    begun.set()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    progress.display = False
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)  # a repeated command must not meet a second writer in its run folder

    threading.Thread(target=follow, daemon=True).start()


class RayExecutor(Executor):
    """Executor on a Ray cluster, which restarts calls whose process or machine died.

    A line on standard error names each machine that leaves the cluster. At the end of a ``with`` block, calls that are
    still running are stopped.

    Args:
        address: Address of the cluster, such as ``10.0.0.1:6379``, or ``auto`` for that in RAY_ADDRESS or on this
            machine. A program that has called ``ray.init`` stays in its cluster.
        options: Options of ``ray.remote``. By default, a call uses one core and is restarted twice.

    Raises:
        ValueError: If the cluster does not answer.
        ImportError: If Ray is not installed.
    """

    def __init__(self, address: str = "auto", **options: Any) -> None:
        self._ray = library("ray")
        self._futures: set[Future[Any]] = set()
        self._connected = not self._ray.is_initialized()
        if self._connected:
            handler = signal.getsignal(signal.SIGTERM)
            try:
                _check_reachable(address)
                self._ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
            except (OSError, ValueError, RuntimeError) as error:
                text = f"ray must be the address of a running Ray cluster, got {shown(address)}: {printable(error)}"
                raise ValueError(text) from None
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, handler)  # Ray has replaced it
        self._remote = self._ray.remote(**{"num_cpus": 1, "max_retries": RETRIES, **options})(_on_node)
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function on the cluster; the error is Ray's if the process or machine dies in every try."""
        future: Future[Any] = self._remote.remote(os.getcwd(), function, *args, **kwargs).future()
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, after the calls have ended if ``wait`` is true."""
        if wait and not cancel_futures:
            futures.wait([*self._futures])
        self._ended.set()
        self._watcher.join(REACHABLE)
        for future in [*self._futures]:
            self._ray.cancel(future.object_ref, force=True)  # type: ignore[attr-defined]
        if self._connected:
            self._ray.shutdown()

    def __exit__(self, *error: object) -> None:
        """Stop all calls."""
        self.shutdown(cancel_futures=True)

    def _watch(self) -> None:
        """Print a line for each node that leaves the cluster."""
        before: dict[str, str] = {}
        while not self._ended.wait(WATCH):
            nodes = {each["NodeID"]: each["NodeManagerAddress"] for each in self._ray.nodes() if each["Alive"]}
            for gone in before.keys() - nodes.keys():
                text = (
                    f"node {before[gone]} has left the cluster ({len(nodes)} remain); its jobs start again on another"
                )
                tqdm.write(text, file=sys.stderr)
            before = nodes


def _check_reachable(address: str) -> None:
    """Raise an error unless something listens at the address, which Ray would try to reach for more than a minute."""
    from ray._private.services import canonicalize_bootstrap_address

    host, _, port = str(canonicalize_bootstrap_address(address)).rpartition(":")
    if port.isdecimal():  # else Ray says that no cluster was found
        socket.create_connection((host.strip("[]"), int(port)), REACHABLE).close()


def _on_node(folder: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function in the folder of the command, if this machine has it, so that relative paths are the same."""
    with suppress(OSError):
        os.chdir(folder)
    files.patience, progress.display = LEASE, False
    return function(*args, **kwargs)

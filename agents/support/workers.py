"""Workers for independent jobs: in this process, or in several processes.

A job is a whole training or an evaluation. If a job fails, the other jobs continue. If a
process dies, its job is restarted in another. (joblib cannot do this: a dead worker ends all jobs.)
"""

from __future__ import annotations

import multiprocessing
import os
import signal
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
"""Maximum number of restarts of a job whose process died."""

DIED = f"a process died, and again in each of {RETRIES} tries"


class Unfinished(RuntimeError):
    """Error if jobs of the work failed; results of the remaining jobs are saved."""


class Outcome(NamedTuple):
    """Outcome of a job: its name, the return value of its function, and a one-line error message or None."""

    name: str
    value: Any
    error: str | None


Jobs = Mapping[str, Sequence[Any]]
"""Arguments of each job, by name of the job; all values can be pickled."""


class Workers:
    """Workers that run jobs in this process, one after another. Base class of all workers."""

    count = 1
    """Number of jobs that run in parallel."""

    def work(self, function: Callable[..., Any], jobs: Jobs) -> Iterator[Outcome]:
        """Call a function with the arguments of each job, and yield outcomes in the order of completion.

        The function must be defined at module level, and its return value must be picklable.
        """
        for name, arguments in jobs.items():
            yield _called(name, function, arguments)

    def close(self) -> None:
        """Stop the processes."""


HERE = Workers()
"""Workers that run all jobs in this process."""


@contextmanager
def workers(processes: int = 1) -> Iterator[Workers]:
    """Start workers, and close them at the end of the block.

    Args:
        processes: Number of processes; 1 runs all jobs in this process.

    Raises:
        ValueError: If the number is out of range.
    """
    if not 1 <= processes <= 1024:
        raise ValueError(f"processes must be within [1, 1024], got {processes!r}")
    engine = HERE if processes == 1 else _Processes(processes)
    try:
        yield engine
    finally:
        engine.close()


def watched(
    outcomes: Iterator[Outcome], jobs: Jobs, unit: str, initial: int = 0, leave: bool = True
) -> dict[str, Outcome]:
    """Return the outcomes by name, in the order of the jobs, and show progress and failures until then.

    ``initial`` jobs were finished before.
    """
    failed, ended = 0, {}
    with progress_bar(total=initial + len(jobs), initial=initial, unit=unit, leave=leave) as bar:
        for outcome in outcomes:
            if outcome.error is not None:
                failed += 1
                bar.write(f"{outcome.name} failed: {outcome.error}")
            bar.set_postfix_str(f"{outcome.name}, {failed} failed, {bar.total - bar.n - 1} left", refresh=False)
            bar.update()
            ended[outcome.name] = outcome
    return {name: ended[name] for name in jobs}


def _called(name: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Outcome:
    try:
        return Outcome(name, function(*arguments), None)
    except Exception as error:  # any error; the remaining jobs continue
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

    def work(self, function: Callable[..., Any], jobs: Jobs) -> Iterator[Outcome]:
        waiting = [(name, arguments, RETRIES) for name, arguments in jobs.items()][::-1]
        running = self._running
        while waiting or running:
            while waiting and len(running) < self.count:
                job = waiting.pop()
                pool = self._free.pop() if self._free else self._pool()
                running[pool.submit(_called, job[0], function, job[1])] = job, pool
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

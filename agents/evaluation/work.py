"""Does a list of independent pieces of work, in this process or in several; what fails does not stop the rest."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any


def _begin_worker() -> None:
    """End with the process that gave the work, also if it is killed; leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)  # else two would write one run folder, when the same command is given again

    threading.Thread(target=follow, daemon=True).start()


def work(
    function: Callable[..., object], pieces: Mapping[str, Sequence[Any]], processes: int = 1
) -> Iterator[tuple[str, str | None]]:
    """Call a function with each of many arguments.

    Parameters
    ----------
    function : callable
        Of a module, so that other processes find it; leaves its results in files.
    pieces : mapping of name to arguments
        Plain values.
    processes : int
        With 1 all is done in this one.

    Yields
    ------
    name, error
        Of each piece when it is done, in the order in which they end; None, or in one line what went wrong.
    """
    if processes == 1:
        for name, arguments in pieces.items():
            yield name, _called(function, arguments)
        return
    left = dict(pieces)
    context = multiprocessing.get_context("spawn")  # forked, threads and compiled kernels would be in any state
    while left:
        pool = ProcessPoolExecutor(processes, context, _begin_worker)
        running: dict[Future[str | None], str] = {}
        try:
            while left or running:
                while left and len(running) < processes:  # no more: when a process dies, these are what it may have had
                    name = next(iter(left))
                    running[pool.submit(_called, function, left[name])] = name
                    del left[name]
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    error = future.result()
                    yield running.pop(future), error
        except BrokenProcessPool:
            wait(running)
            for future, name in running.items():
                yield name, "a process died" if future.exception() else future.result()
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _called(function: Callable[..., object], arguments: Sequence[Any]) -> str | None:
    """What went wrong in a call, in one line."""
    try:
        function(*arguments)
    except Exception as error:  # whatever it is, the rest of the work has nothing to do with it
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return None

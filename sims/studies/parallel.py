"""The same work on many tasks, over all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

from sims.papers.table import Progress

Task = TypeVar("Task")
Result = TypeVar("Result")


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(
    function: Callable[[Task], Result], tasks: Sequence[Task], what: str, progress: Progress, *, processes: bool = False
) -> list[Result]:
    """`function` of each task, in the order of the tasks, whatever the order they end in.

    Threads suit kernels, which let go of the interpreter; `processes` suit work in Python, and then `function` must be
    at the top of a module. The first error ends the work: what has not begun is dropped.
    """
    with _pool(processes, min(cores(), max(len(tasks), 1))) as pool:
        futures = [pool.submit(function, task) for task in tasks]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                progress(what, done / len(futures))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _pool(processes: bool, workers: int) -> Executor:
    if processes:  # a fork would copy locks that numba's and BLAS's threads hold
        return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    return ThreadPoolExecutor(workers)

"""One place for numba: the jit options, where compiled kernels are cached, and `warm_up()`.

Numba's own cache looks only at the file a kernel is written in, so an edited callee in another file would go
unnoticed. Ours lives in a folder named by a hash of every source file of this package (and of the numba and Python
versions); only the newest few such folders are kept. Numba's configuration is left as the user has it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numba
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

KEPT_VERSIONS = 8  # cache folders of older sources that survive, so that two checkouts can share a machine
# No fastmath: a step and a run must agree bit for bit.
JIT_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}

_numba_config: Any = numba.config
_warmers: list[Callable[[], object]] = []


def sources_hash(package: Path) -> str:
    """Hash of the package's sources and of the versions that decide what the compiler emits."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Folder that holds the kernel caches: `ATTITUDE_CACHE_DIR`, or `attitude-toolkit` in the user's cache folder."""
    chosen = os.environ.get("ATTITUDE_CACHE_DIR")
    if chosen:
        return Path(chosen)
    user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(user_cache) / "attitude-toolkit"


def prune(root: Path, keep: int = KEPT_VERSIONS) -> None:
    """Delete all but the `keep` most recently used caches under `root`."""
    folders = sorted((p for p in root.glob("kernels-*") if p.is_dir()), key=_modified, reverse=True)
    for folder in folders[keep:]:
        shutil.rmtree(folder, ignore_errors=True)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process pruned it
        return 0.0


def _prepare_cache() -> Path | None:
    """Folder for the kernels of these sources, or none where it cannot be written or nobody is at home.

    Numba's own places are no substitute: there an edited callee would go unnoticed.
    """
    try:
        root = cache_root()
        folder = root / f"kernels-{sources_hash(Path(__file__).parents[1])}"
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        prune(root)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


CACHE_DIR = _prepare_cache()


def _cached(function: Callable[..., Any], **options: Any) -> Any:
    """Compile `function` on first use, with the toolkit's options and cache."""
    njit = partial(numba.njit, **JIT_OPTIONS, **options)
    if CACHE_DIR is None:  # compile in every process
        return njit(function)
    users = _numba_config.CACHE_DIR
    _numba_config.CACHE_DIR = str(CACHE_DIR)
    try:
        return _forgiving(njit(cache=True)(function))
    except RuntimeError:  # the folder has become unwritable since
        return njit(function)
    finally:
        _numba_config.CACHE_DIR = users


def _forgiving(dispatcher: Any) -> Any:
    """The same kernel, for which a damaged or full cache means compiling again, not an error."""
    cache = dispatcher._cache
    load, save = cache.load_overload, cache.save_overload

    def load_or_compile(*args: Any) -> Any:
        try:
            return load(*args)
        except Exception:
            _quietly(cache.flush)
            return None

    cache.load_overload = load_or_compile
    cache.save_overload = lambda *args: _quietly(save, *args)
    return dispatcher


def _quietly(action: Callable[..., Any], *args: Any) -> None:
    with suppress(Exception):
        action(*args)


def kernel(function: Callable[..., Any]) -> Any:
    """Kernel without numba's memory runtime: it cannot allocate, and pays for no reference counts.

    Arrays belong to the caller. Counting references to array arguments, as numba does otherwise, costs several times
    more than the arithmetic of a step; calls between kernels cost as much again, so they are inlined.
    """
    return _cached(function, _nrt=False, forceinline=True)


def inner_kernel(function: Callable[..., Any]) -> Any:
    """Kernel for other kernels only: it has no way in from Python, which takes long to compile for large tuples."""
    options: dict[str, Any] = {"_nrt": False, "forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(**JIT_OPTIONS, **options)(function)  # not cached: it lives on in the kernels that call it


def allocating_kernel(function: Callable[..., Any]) -> Any:
    """Kernel that may allocate: once for a whole run, never in a loop."""
    return _cached(function)


def on_warm_up(function: Callable[[], object]) -> Callable[[], object]:
    """Register a function that calls a module's entry kernels once, for `warm_up`."""
    _warmers.append(function)
    return function


def warm_up() -> None:
    """Compile, or load from the cache, every entry kernel of the imported modules: call it before a real-time loop."""
    for warmer in _warmers:
        warmer()

"""Where and with what the numbers were measured."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sims.bench.peer_filters import filter_versions, missing_filters
from sims.bench.peers import missing_peers, peer_versions

PACKAGES = ("attitude-toolkit", "numpy", "numba")


@dataclass(frozen=True)
class Machine:
    """Processor, its cores, the load before and after (processes wanting to run, mean of a minute), versions."""

    processor: str
    cores: int | None
    load: tuple[float | None, float | None]
    versions: dict[str, str]
    missing_peers: dict[str, str]


def machine(load_before: float | None) -> Machine:
    """The machine as it is now; `load_before` is `load()` from before the work."""
    ours = {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}}
    missing = {**missing_peers(), **missing_filters()}
    versions = {**ours, **peer_versions(), **filter_versions()}
    return Machine(processor(), os.cpu_count(), (load_before, load()), versions, missing)


def load() -> float | None:
    """Load average of the last minute, None where the system does not keep one."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def processor() -> str:
    """Model of the processor as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"

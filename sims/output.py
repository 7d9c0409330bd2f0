"""Results as files and as JSON: a file is written whole or not at all, a document has no NaN."""

from __future__ import annotations

import json
import math
import os
import tempfile
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """`value` in the types JSON has: records as objects, paths as text, numbers that are not finite as null."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.as_posix() if isinstance(value, Path) else value


def json_text(document: Any) -> str:
    """One JSON document; what has no place in JSON is an error, not invalid text."""
    return json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)


def write_whole(path: Path, content: str | bytes | memoryview) -> None:
    """Write text or bytes so that `path` holds either all or what was there before; a link keeps pointing there."""
    path = path.resolve()
    if path.exists() and not path.is_file():  # renaming would put a file in the place of a device
        raise OSError(f"{path} is not a regular file")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
        os.chmod(name, 0o666 & ~_umask())  # a temporary file is private, a result is not
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def check_folder(folder: Path) -> None:
    """Make `folder` and put a file there for a moment; `OSError` before the work rather than after it."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder):
        pass


def check_file(path: Path) -> None:
    """As `check_folder`, for the folder of a file to be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file")
    check_folder(path.resolve().parent)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

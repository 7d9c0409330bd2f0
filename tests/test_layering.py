"""Imports go downward only, and folders on one line do not import each other.

    sims.cli, sims.cli_...                    the front door
    hil        sims
    attitude                                  the public names
    attitude.spacecraft
    attitude.sensors   .estimation   .control   .actuators   .environment
    attitude.dynamics  .truth
    attitude.core

Every import statement counts: inside functions, relative, and those for type checkers only.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = (
    {"attitude.core"},
    {"attitude.dynamics", "attitude.truth"},
    {
        "attitude.sensors", "attitude.estimation", "attitude.control", "attitude.actuators", "attitude.environment",
    },
    {"attitude.spacecraft"},
    {"attitude"},
    {"hil", "sims"},
    {"sims.cli"},
)  # fmt: skip
HEIGHT = {folder: height for height, line in enumerate(LAYERS) for folder in line}
KERNELS_ONLY = ("attitude.core", "attitude.dynamics")  # what `import attitude` loads: NumPy and numba
HEAVY = {"scipy", "matplotlib"}
OURS = {"attitude", "sims", "hil", "tests"}


def folder_of(module):
    """The folder of the picture a module lies in; `None` if it is not ours. A new folder must be drawn in first."""
    parts = module.split(".")
    if parts[0] not in OURS:
        return None
    if parts[0] == "attitude" and len(parts) > 1:
        return ".".join(parts[:2])
    if parts[0] == "sims" and len(parts) == 2 and (parts[1] == "cli" or parts[1].startswith("cli_")):
        return "sims.cli"
    return parts[0]


def module_name(path, root):
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(source, path, root):
    """Every module the source imports, as absolute names; of `from a import b` whichever of `a.b` and `a` is meant."""
    package = list(path.relative_to(root).parts[:-1])
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = root.joinpath(*base.split("."), alias.name)
                yield f"{base}.{alias.name}" if inner.is_dir() or inner.with_suffix(".py").exists() else base
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
            yield from (
                arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            )


def violations(root):
    """One sentence for each import that breaks the picture."""
    paths = sorted(path for top in ("attitude", "sims", "hil") for path in (root / top).rglob("*.py"))
    found = []
    for path in paths:
        module = module_name(path, root)
        for target in imported_modules(path.read_text(), path, root):
            reason = complaint(folder_of(module), target)
            if reason:
                found.append(f"{module} imports {target}: {reason}")
    return found


def complaint(folder, target):
    if folder in KERNELS_ONLY and target.split(".")[0] in HEAVY:
        return f"{folder} must do without {target.split('.')[0]}"
    other = folder_of(target)
    if other is None or other == folder:
        return None
    if other == "tests":
        return "tests are not part of the program"
    missing = [name for name in (folder, other) if name not in HEIGHT]
    if missing:
        return f"{missing[0]} has no place in the layers"
    if HEIGHT[other] == HEIGHT[folder]:
        return "folders on one line do not import each other"
    if HEIGHT[other] > HEIGHT[folder]:
        return "imports go downward only"
    return None


def folders(root):
    inner = {f"attitude.{p.name}" for p in (root / "attitude").iterdir() if p.is_dir() and any(p.glob("*.py"))}
    return inner | {"attitude"} | {top for top in ("sims", "hil") if (root / top).is_dir()}


# ------------------------------------------------------------------ the program
def test_the_layers_hold():
    assert violations(ROOT) == []


def test_every_folder_has_its_place():
    assert {"attitude.core", "attitude.dynamics", "attitude.truth"} <= folders(ROOT)
    assert folders(ROOT) <= set(HEIGHT)


def test_modules_are_found_and_their_imports_seen():
    path = ROOT / "attitude" / "core" / "so3.py"
    assert module_name(path, ROOT) == "attitude.core.so3"
    seen = set(imported_modules(path.read_text(), path, ROOT))
    assert {"numpy", "attitude.core.quaternion", "attitude.core.jit"} <= seen


# ------------------------------------------------------------------ the checker itself
@pytest.fixture
def tree(tmp_path):
    """A small program without violations, and a way to write one into it."""

    def write(path, source):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
        return violations(tmp_path)

    rooms = ("attitude/core", "attitude/dynamics", "attitude/truth", "attitude/control")
    for folder in ("attitude", *rooms, "sims", "hil"):
        write(f"{folder}/__init__.py", "")
    write("attitude/core/so3.py", "import numpy\n")
    write("attitude/truth/body.py", "")
    assert write("attitude/dynamics/step.py", "from attitude.core import so3\nfrom . import other\n") == []
    return write


ALLOWED = [
    ("attitude/__init__.py", "from attitude.dynamics.step import run\nfrom attitude.core import so3"),
    ("attitude/control/law.py", "import attitude.dynamics.step\nfrom ..core.so3 import exp"),
    ("attitude/dynamics/body.py", "from attitude.dynamics.step import run"),
    ("attitude/truth/body.py", "import scipy.integrate"),
    ("sims/run.py", "import attitude\nfrom attitude.control import law\nimport matplotlib.pyplot"),
    ("hil/run.py", "import attitude as att"),
    ("sims/cli.py", "from sims import cli_hil\nimport sims.run\nimport attitude"),
    ("sims/cli_hil.py", "def f():\n    from hil.runner import Runner\n    from sims.run import fly"),
]


@pytest.mark.parametrize(("path", "source"), ALLOWED)
def test_what_is_allowed(tree, path, source):
    assert tree(path, source) == []


FORBIDDEN = [
    ("attitude/core/x.py", "from attitude.dynamics.step import run", "downward"),
    ("attitude/core/x.py", "import attitude.truth.body", "downward"),
    ("attitude/core/x.py", "from attitude import dynamics", "downward"),
    ("attitude/core/x.py", "import attitude", "downward"),
    ("attitude/core/x.py", "from attitude import RigidBody", "downward"),
    ("attitude/core/x.py", "from ..dynamics import step", "downward"),
    ("attitude/core/x.py", "from .. import dynamics", "downward"),
    ("attitude/core/x.py", "def f():\n    import attitude.control", "downward"),
    ("attitude/core/x.py", "if TYPE_CHECKING:\n    from attitude.dynamics import step", "downward"),
    ("attitude/core/x.py", "try:\n    import sims.run\nexcept ImportError:\n    pass", "downward"),
    ("attitude/core/x.py", 'import importlib\nimportlib.import_module("attitude.dynamics")', "downward"),
    ("attitude/core/x.py", '__import__("sims")', "downward"),
    ("attitude/dynamics/x.py", "from attitude.truth import body", "one line"),
    ("attitude/truth/x.py", "from attitude.dynamics.step import run", "one line"),
    ("attitude/truth/deep/er/x.py", "from attitude.dynamics.step import run", "one line"),
    ("attitude/truth/deep/er/x.py", "from ....dynamics import step", "one line"),
    ("attitude/dynamics/x.py", "import attitude.control", "downward"),
    ("attitude/control/x.py", "import attitude.sensors.gyro", "one line"),
    ("attitude/control/x.py", "import attitude.spacecraft", "downward"),
    ("attitude/control/x.py", "import hil.clock", "downward"),
    ("attitude/__init__.py", "import sims", "downward"),
    ("sims/x.py", "import hil", "one line"),
    ("sims/run.py", "from hil.runner import Runner", "one line"),
    ("sims/client.py", "import hil", "one line"),
    ("sims/deep/cli.py", "import hil", "one line"),
    ("sims/run.py", "import sims.cli", "downward"),
    ("hil/x.py", "import sims.cli_hil", "downward"),
    ("hil/x.py", "from sims.run import main", "one line"),
    ("attitude/core/x.py", "import scipy.linalg", "without scipy"),
    ("attitude/core/x.py", "def f():\n    from scipy import linalg", "without scipy"),
    ("attitude/dynamics/x.py", "from matplotlib import pyplot", "without matplotlib"),
    ("sims/x.py", "import tests.helpers", "not part of the program"),
    ("attitude/newroom/x.py", "import attitude.core.so3", "no place"),
    ("sims/x.py", "import attitude.newroom.x", "no place"),
]


@pytest.mark.parametrize(("path", "source", "reason"), FORBIDDEN)
def test_what_is_caught(tree, path, source, reason):
    found = tree(path, source)
    assert len(found) == 1
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert found[0].startswith(f"{module} imports ")
    assert reason in found[0]


def test_a_folder_without_a_place_is_noticed(tree, tmp_path):
    tree("attitude/newroom/__init__.py", "")
    assert folders(tmp_path) - set(HEIGHT) == {"attitude.newroom"}

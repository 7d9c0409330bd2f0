"""The kernel cache, the jit options and `warm_up`: in fresh interpreters where a fresh interpreter is what counts."""

import ast
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pytest

import attitude
from attitude.core import jit

PACKAGE = Path(attitude.__file__).parent

# One kernel that calls another in a file of its own: the increment solver and `linalg.solve3`.
SOLVE = """
import json, numba
from pathlib import Path
users = numba.config.CACHE_DIR
from attitude.core import jit
from attitude.core.increment import solve_increment
*_, status = solve_increment(1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1)
print(json.dumps({
    "status": status,
    "loaded": sum(solve_increment.stats.cache_hits.values()),
    "folder": None if jit.CACHE_DIR is None else str(jit.CACHE_DIR),
    "config_unchanged": numba.config.CACHE_DIR == users,
    "source": jit.__file__,
}))
"""


def fresh(code, tree=None, **environment):
    """What `code` prints as JSON in a new interpreter, with `tree` first on the path."""
    env = {**os.environ, **environment}
    if tree is not None:
        env["PYTHONPATH"] = str(tree)
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, cwd=tree or PACKAGE.parent
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def copied_core(folder):
    """The core alone: nothing else to import, little to compile."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE / "core", folder / "attitude" / "core", ignore=ignore)
    (folder / "attitude" / "__init__.py").write_text("")
    return folder


# ------------------------------------------------------------------ what names the cache folder
@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "package"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_the_hash_is_that_of_the_sources_wherever_they_are(package):
    copy = shutil.copytree(package, package.parent / "elsewhere")
    assert jit.sources_hash(copy) == jit.sources_hash(package)
    (package / "notes.txt").write_text("not a source")
    assert jit.sources_hash(copy) == jit.sources_hash(package)
    assert len(jit.sources_hash(package)) == 16


def test_a_change_of_any_file_changes_the_hash(package):
    before = jit.sources_hash(package)
    files = sorted(package.rglob("*.py"))
    assert len(files) > 10
    for path in files:
        source = path.read_bytes()
        path.write_bytes(source + b"#")
        assert jit.sources_hash(package) != before, path
        path.write_bytes(source)
    assert jit.sources_hash(package) == before


def test_files_that_come_go_or_move_change_the_hash(package):
    before = jit.sources_hash(package)
    new = package / "core" / "new.py"
    new.write_text("")
    added = jit.sources_hash(package)
    moved = jit.sources_hash(package) if new.rename(package / "core" / "newer.py") else None
    assert len({before, added, moved}) == 3
    (package / "core" / "newer.py").unlink()
    assert jit.sources_hash(package) == before
    (package / "core" / "so3.py").unlink()
    assert jit.sources_hash(package) != before


@pytest.mark.parametrize(("module", "name", "value"), [(numba, "__version__", "0.0.0"), (sys, "version_info", (3, 99))])
def test_versions_change_the_hash(package, monkeypatch, module, name, value):
    before = jit.sources_hash(package)
    monkeypatch.setattr(module, name, value)
    assert jit.sources_hash(package) != before


# ------------------------------------------------------------------ where it is
def test_where_caches_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTITUDE_CACHE_DIR", str(tmp_path / "chosen"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert jit.cache_root() == tmp_path / "chosen"
    monkeypatch.setenv("ATTITUDE_CACHE_DIR", "")
    assert jit.cache_root() == tmp_path / "xdg" / "attitude-toolkit"
    monkeypatch.delenv("ATTITUDE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert jit.cache_root() == tmp_path / "home" / ".cache" / "attitude-toolkit"


def folder_of_age(root, name, seconds):
    folder = root / name
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "kernel.nbc").write_bytes(b"")
    os.utime(folder, (time.time() - seconds,) * 2)
    return folder


def test_prune_keeps_the_newest(tmp_path):
    ages = [50, 10, 40, 20, 30]
    for age in ages:
        folder_of_age(tmp_path, f"kernels-{age}", age)
    other = folder_of_age(tmp_path, "other", 99)
    (tmp_path / "kernels-file").write_text("not a folder")
    jit.prune(tmp_path, keep=2)
    assert {p.name for p in tmp_path.iterdir()} == {"kernels-10", "kernels-20", "other", "kernels-file"}
    assert (other / "inner" / "kernel.nbc").exists()
    jit.prune(tmp_path, keep=2)
    jit.prune(tmp_path / "not there")
    assert len(list(tmp_path.glob("kernels-[0-9]*"))) == 2


def test_a_new_cache_is_the_newest_and_old_ones_go(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTITUDE_CACHE_DIR", str(tmp_path))
    for age in range(1, 20):
        folder_of_age(tmp_path, f"kernels-{age:02}", age)
    folder = jit._prepare_cache()
    kept = sorted(p.name for p in tmp_path.glob("kernels-*"))
    assert len(kept) == jit.KEPT_VERSIONS
    assert folder is not None
    assert folder.name in kept
    assert "kernels-01" in kept
    assert "kernels-19" not in kept


def test_no_cache_where_none_can_be(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ATTITUDE_CACHE_DIR", str(tmp_path / "file" / "x"))
    assert jit._prepare_cache() is None

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("ATTITUDE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(Path, "home", homeless)
    assert jit._prepare_cache() is None


# ------------------------------------------------------------------ fresh interpreters
def test_an_edited_callee_in_another_file_is_noticed(tmp_path):
    tree, cache = copied_core(tmp_path / "tree"), tmp_path / "cache"
    run = lambda: fresh(SOLVE, tree, ATTITUDE_CACHE_DIR=str(cache))  # noqa: E731

    first = run()
    assert Path(first["source"]).is_relative_to(tree)
    assert first["config_unchanged"]
    assert Path(first["folder"]).parent == cache
    assert list(Path(first["folder"]).rglob("*solve_increment*.nbc"))
    assert (first["status"], first["loaded"]) == (0, 0)

    second = run()
    assert second == {**first, "loaded": 1}

    callee = tree / "attitude" / "core" / "linalg.py"
    source = callee.read_text()
    assert source.count("        det,\n") == 1
    callee.write_text(source.replace("        det,\n", "        -det,\n"))
    edited = run()
    assert edited["status"] == 1  # a determinant of the wrong sign: no increment is accepted
    assert edited["folder"] != first["folder"]
    assert len(list(cache.glob("kernels-*"))) == 2


def test_an_unwritable_cache_does_no_harm(tmp_path):
    """Under a regular file, which binds the superuser too; and nothing is left in numba's own places."""
    tree = copied_core(tmp_path)
    report = fresh(SOLVE, tree, ATTITUDE_CACHE_DIR="/dev/null/x", XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert report["status"] == 0
    assert report["folder"] is None
    assert report["config_unchanged"]
    assert not list(tmp_path.rglob("*.nb[ic]"))


def test_import_loads_numpy_and_numba_only():
    """Beyond what numba itself loads: it looks at the version of SciPy, for one."""
    code = """
import json, sys
import numba, numpy
before = set(sys.modules)
import attitude
new = set(sys.modules) - before
print(json.dumps(sorted(name for name in new if name.split(".")[0] not in sys.stdlib_module_names)))
"""
    loaded = fresh(code)
    assert "attitude.dynamics.propagator" in loaded
    assert {name.split(".")[0] for name in loaded} <= {"attitude", "numpy", "numba", "llvmlite"}


WARM_UP = """
import json, sys
import numpy as np
import attitude as att
from numba import types
from numba.core.dispatcher import Dispatcher

def count(kernel):  # a kernel that passes a literal 0 to another counts as one that passes an integer
    return len({tuple(map(types.unliteral, signature)) for signature in kernel.signatures})

def signatures():
    return {
        f"{kernel.py_func.__module__}.{kernel.py_func.__name__}": count(kernel)
        for name, module in list(sys.modules.items()) if name.split(".")[0] == "attitude"
        for kernel in vars(module).values() if isinstance(kernel, Dispatcher)
    }

att.warm_up()
warm = signatures()

frozen = np.array([0.1, -0.2, 0.3], dtype=np.float32)
frozen.setflags(write=False)
every_other = np.zeros((10, 6))[::2, ::2]
wheels = [att.Wheel([0, 0, 1], 0.01), att.Wheel(np.array([1, 1, 0]), 0.02)]
free = att.RigidBody(np.asfortranarray(np.diag([1, 2, 3])))
tilted = att.RigidBody([[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 2.5]])
damped = att.DampedGyrostat(np.eye(3), wheels, damper_inertia=1, damping=np.float32(0.1))
for body, orders in ((free, (2, 12)), (tilted, (4,)), (att.Gyrostat(np.eye(3), wheels), (2, 6)), (damped, (2,))):
    for order in orders:
        for limit in (None, 0.25):
            propagator = att.Propagator(body, order=order, max_increment=limit)
            x = att.State(q=[0, 0, 0, 1], omega=frozen)
            x = propagator.step(x, 1)
            x = propagator.step(x, np.float32(0.1), torque=frozen)
            propagator.step_with_jacobian(x, 0.1, torque=[0, 0, 1])
            propagator.linearise(x, 0.1)
            propagator.run(x, 0.1, 5, every=np.int32(2), torque=every_other)
            propagator.momentum(x), propagator.energy(x)
print(json.dumps([warm, signatures()]))
"""


def entry_kernels(module):
    """Kernels of `module` that ordinary functions call: what Python enters compiled code through."""
    tree = ast.parse(Path(module).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    compiled = {"kernel", "allocating_kernel"}
    plain = [f for f in functions if not compiled & {getattr(d, "id", None) for d in f.decorator_list}]
    calls = (node.func for f in plain for node in ast.walk(f) if isinstance(node, ast.Call))
    return {call.id for call in calls if isinstance(call, ast.Name)}


def test_after_warm_up_nothing_is_compiled_any_more(tmp_path):
    """One signature per kernel, whatever types the user's numbers have; entry kernels have theirs from the start."""
    warm, used = fresh(WARM_UP, ATTITUDE_CACHE_DIR=str(tmp_path))  # an empty cache, so that callees count too
    assert used == warm
    assert {name: n for name, n in used.items() if n > 1} == {}
    called = entry_kernels(PACKAGE / "dynamics" / "propagator.py")
    entries = {name for name in warm if name.startswith("attitude.dynamics.step.") and name.split(".")[-1] in called}
    assert len(entries) >= 3
    assert {name for name in entries if warm[name] != 1} == set()


# ------------------------------------------------------------------ the options
def test_the_users_configuration_is_left_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @jit.kernel
    def double(x):
        return 2.0 * x

    assert str(tmp_path) == numba.config.CACHE_DIR
    assert double(2.0) == 4.0
    assert list(tmp_path.rglob("*")) == []
    with pytest.raises(TypeError):
        jit.kernel("not a function")
    assert str(tmp_path) == numba.config.CACHE_DIR


def test_kernels_cannot_allocate():
    @jit.kernel
    def allocates(n):
        return np.empty(n).size

    with pytest.raises(numba.core.errors.NumbaError, match="empty"):
        allocates(3)


def test_allocating_kernels_may_allocate():
    @jit.allocating_kernel
    def allocates(n):
        return np.empty(n).size

    assert allocates(3) == 3


@pytest.mark.parametrize("decorator", [jit.kernel, jit.allocating_kernel])
def test_kernels_do_not_raise_and_do_not_reorder(decorator):
    @decorator
    def compensated(x, y):
        total = x + y
        return 1.0 / (total - total), (total - x) - y  # fast-math would fold the second to zero

    assert compensated.targetoptions.get("fastmath", False) in (False, None)
    infinite, rest = compensated(1.0, 1e-17)
    assert infinite == np.inf
    assert rest == -1e-17


def test_warm_up_calls_everything_registered(monkeypatch):
    monkeypatch.setattr(jit, "_warmers", [])
    calls = []

    @jit.on_warm_up
    def mine():
        calls.append("mine")

    jit.warm_up()
    assert calls == ["mine"]
    assert callable(mine)


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_cache_means_compiling_again(tmp_path, suffix):
    first = fresh(SOLVE, ATTITUDE_CACHE_DIR=str(tmp_path))
    for path in tmp_path.rglob(f"*.{suffix}"):
        path.write_bytes(path.read_bytes()[: 10 if suffix == "nbc" else 0])
    again = fresh(SOLVE, ATTITUDE_CACHE_DIR=str(tmp_path))
    assert (again["status"], again["loaded"]) == (first["status"], 0)
    assert fresh(SOLVE, ATTITUDE_CACHE_DIR=str(tmp_path))["loaded"] == 1  # and the damage is repaired

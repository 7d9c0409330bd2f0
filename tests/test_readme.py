"""The README's code and commands run, and we see that they ran."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CALLS_ITSELF = "make test"  # runs this test: only its recipe is looked at


CHECKS = """
exact, _ = free_motion(np.diag([1.0, 2.0, 3.0]), x0.q, x0.omega, 500.0)
print("500 s:", float(quaternion.angle_between(x2.q, exact)))
print("last line reached", len(energy), linear.by_state.shape, accepted, est.status.name)
"""


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands():
    lines = [line.split("#")[0].strip() for block in blocks("console") for line in block.splitlines()]
    return [line for line in lines if line]


def environment():
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def test_code_runs(tmp_path):
    code = "\n".join(blocks("python")) + CHECKS
    assert len(blocks("python")) == 5
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    drift = float(re.search(r"a million steps: (\S+)", done.stdout).group(1))
    assert 0.0 < drift < 1e-13
    errors = [float(value) for value in re.findall(r"order \d+: (\S+) rad", done.stdout)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-12
    assert "last line reached 301 (6, 6) True ACCEPTED" in done.stdout
    assert "0.4 s: 0.3894 rad" in done.stdout
    assert "50 ticks at 100 Hz by real time" in done.stdout
    assert "(568, 79) (568, 22)" in done.stdout
    assert "svg" in (tmp_path / "out" / "damper" / "report.html").read_text(encoding="utf-8")
    assert float(re.search(r"500 s: (\S+)", done.stdout).group(1)) < 1e-11  # "to roundoff", over 90 turns


def test_commands_are_the_ones_promised():
    assert {"make run", CALLS_ITSELF} <= set(commands())
    assert len(commands()) == 13


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands run, one after the other: some read what others wrote."""
    return tmp_path_factory.mktemp("readme")


@pytest.mark.parametrize("command", [c for c in commands() if c.startswith("attitude")])
def test_command_runs(command, folder):
    done = subprocess.run(command.split(), cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if "--out" in command:
        out = folder / command.split("--out")[1].split()[0]
        results = {"papers": "index.html", "study": "sample-rate.json", "run": "report.html"}
        file = out / results[command.split()[1]] if out.is_dir() else out
        assert file.stat().st_size > 1000
        assert file == out or list(out.glob("*.png"))


@pytest.mark.parametrize("command", [c for c in commands() if c.startswith("make")])
def test_make_recipes(command, tmp_path):
    """A dry run names the commands that were run above; the set-up they need is this very environment."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    target = command.split()[1]
    dry = ["make", "--dry-run", target, f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(dry, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = {"run": "attitude run --out out", "test": "bin/pytest"}[target]
    assert expected in done.stdout
    assert "-m venv" in done.stdout  # an empty machine gets its environment first

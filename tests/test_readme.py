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


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands():
    lines = [line.split("#")[0].strip() for block in blocks("console") for line in block.splitlines()]
    return [line for line in lines if line]


def environment():
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def test_code_runs(tmp_path):
    code = "\n".join(blocks("python")) + "\nprint('last line reached', len(energy), x2.q.shape, linear.by_state.shape)"
    assert len(blocks("python")) == 2
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    drift = float(re.search(r"a million steps: (\S+)", done.stdout).group(1))
    assert 0.0 < drift < 1e-13
    assert "last line reached 301 (4,) (6, 6)" in done.stdout


def test_commands_are_the_ones_promised():
    assert {"make run", CALLS_ITSELF} <= set(commands())
    assert len(commands()) == 5


@pytest.mark.parametrize("command", [c for c in commands() if c.startswith("attitude")])
def test_command_runs(command, tmp_path):
    done = subprocess.run(command.split(), cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if "--out" in command:
        out = tmp_path / command.split("--out")[1].split()[0]
        assert list(out.glob("*.png"))
        assert (out / "index.html").stat().st_size > 1000


@pytest.mark.parametrize("command", [c for c in commands() if c.startswith("make")])
def test_make_recipes(command, tmp_path):
    """A dry run names the commands that were run above; the set-up they need is this very environment."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    target = command.split()[1]
    dry = ["make", "--dry-run", target, f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(dry, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = {"run": "attitude papers manchester-peck --out out", "test": "bin/pytest"}[target]
    assert expected in done.stdout
    assert "-m venv" in done.stdout  # an empty machine gets its environment first

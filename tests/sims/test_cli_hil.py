"""`attitude hil`: what is wrong is one sentence and exit code 2; reports; documents; nothing heavy for --help."""

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from attitude.spacecraft.frames import TRUTH
from hil import header, icd
from sims import log
from sims.cli import app
from sims.cli_hil_jobs import scenario_from, scenario_of

ONE = ("star-tracker", "--link")


def attitude(*arguments):
    return CliRunner().invoke(app, ["hil", *(str(argument) for argument in arguments)])


def refused(*arguments):
    """The sentence a command is refused with."""
    result = attitude(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.fixture
def busy_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


# ------------------------------------------------------------------ bad input
def test_a_port_in_use(busy_port):
    link = f"udp-listen://127.0.0.1:{busy_port}"
    assert refused("plant", *ONE, link) == f"port {busy_port} on 127.0.0.1 is in use"
    assert refused("flight", *ONE, link) == f"port {busy_port} on 127.0.0.1 is in use"


def test_a_serial_device_that_is_not_there():
    assert refused("plant", *ONE, "serial:///dev/ttyNOWHERE") == "serial device /dev/ttyNOWHERE is not there"


def test_a_rate_the_loop_does_not_divide_into():
    told = refused("loop", "star-tracker", "--log-hz", "3")
    assert told.startswith("rate_hz of group 'log' must divide the loop's rate of 10 Hz, got 3")


def test_a_key_that_others_can_read(tmp_path):
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o644)
    told = refused("plant", *ONE, "udp-listen://127.0.0.1:0", "--key-file", key)
    assert told == f"key file {key} must be readable by its owner only (chmod 600), got mode 644"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("plant", "nowhere.toml", "--link", "pty:"), "scenario nowhere.toml cannot be read"),
        (("plant", *ONE, "carrier-pigeon:"), "must begin with one of udp-listen:"),
        (("plant", *ONE, "udp://192.0.2.1:9"), "--allow-remote"),
        (("plant", *ONE, "pty:", "--rate", "fast"), "--rate must be real, lockstep or a factor such as 2x"),
        (("plant", *ONE, "pty:", "--on-loss", "panic"), "--on-loss must be one of hold, zero"),
        (("plant", *ONE, "pty:", "--waiting", "dream"), "waiting must be one of sleep, sleep-spin, spin"),
        (("plant", *ONE, "pty:", "--overrun", "cry"), "overrun must be one of skip, catch-up, stop"),
        (("plant", *ONE, "pty:", "--duration-s", "1e9"), "--duration-s must be from 0.1 to the scenario's"),
        (("plant", *ONE, "pty:", "--delay-s", "100"), "delay_s must be between 0 and 60"),
        (("plant", *ONE, "pty:", "--out", "/dev/null/x"), "cannot write to --out"),
        (("plant", *ONE, "pty:", "--record", "/dev/null/x"), "recording /dev/null/x cannot be written"),
        (("plant", *ONE, "pty:", "--tick-hz", "-1"), "mission.tick_hz"),
        (("plant", *ONE, "child:/no/such/program"), "program /no/such/program cannot be started"),
        (("loop", "star-tracker", "--rate", "lockstep", "--compare"), "--compare needs --rate real"),
        (("loop", "star-tracker", "--fifo", "100"), "fifo_priority must be an integer from 1 to 99"),
        (("replay", "/no/such/file"), "recording /no/such/file cannot be read"),
        (("replay", __file__), "is not a recording"),
    ],
)
def test_bad_input_is_one_sentence(arguments, part):
    assert part in refused(*arguments)


def test_nobody_on_the_line():
    result = attitude("plant", *ONE, "pty:", "--connect-s", "0.3")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].endswith("nothing was heard from the peer")


def test_a_program_that_ends_at_once():
    result = attitude("plant", *ONE, "child:true")
    assert result.exit_code == 2
    assert "the flight program true ended before it introduced itself" in result.stderr


# ------------------------------------------------------------------ what they print and write
def test_the_loop_reports_and_logs(tmp_path):
    result = attitude("loop", "star-tracker", "--rate", "lockstep", "--duration-s", "10", "--out", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["run"]["ticks_run"] == 100
    assert told["log"]["written"] == 10
    assert told["finished"]
    assert json.loads((tmp_path / "hil.json").read_text()) == told
    assert "execution of the tick" in (tmp_path / "hil.txt").read_text()
    data = log.read(tmp_path / "mission.nc")
    assert data.sizes["time"] == 10
    assert data.attrs["scenario"] == "star-tracker"
    assert data["truth_q_IB"].shape == (10, TRUTH["q_IB"].size)
    assert {path.name for path in tmp_path.iterdir()} == {"mission.nc", "hil.json", "hil.txt"}


def test_the_loop_beside_the_bare_one():
    result = attitude("loop", "star-tracker", "--tick-hz", "100", "--duration-s", "0.5", "--compare", "--log-hz", "50")
    assert result.exit_code == 0, result.output
    for part in ("50 ticks at 100 Hz by real time", "lateness of the bare C loop", "p50", "p99", "max", "slips",
                 "log: 25 rows written of 25", "█"):  # fmt: skip
        assert part in result.stdout


def test_documents():
    assert attitude("icd").stdout == icd.text()
    assert attitude("header").stdout == header.text()


def test_a_kept_text_is_the_scenario_with_its_changes():
    given = scenario_of("star-tracker", 5, 20.0)
    again = scenario_from(given.with_seed(6).text, "kept")
    assert again.sha256 == given.with_seed(6).sha256
    assert again.sha256 != given.sha256


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom sims.cli import app\n"
        "for words in (['hil', '--help'], ['hil', 'plant', '--help']):\n"
        "    assert CliRunner().invoke(app, words).exit_code == 0\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'attitude', 'hil', 'serial'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_disk_that_is_full_costs_the_files_not_the_report(tmp_path, monkeypatch):
    from sims import output

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output.os, "replace", full)
    arguments = ["hil", "loop", "star-tracker", "--rate", "lockstep", "--duration-s", "5", "--out", str(tmp_path / "o")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1
    assert "50 ticks at 10 Hz by lockstep" in done.stdout
    assert "No space left on device" in done.stdout
    assert list((tmp_path / "o").iterdir()) == []


def test_a_full_disk_costs_the_log_and_not_the_report(tmp_path, full_disk):
    """Room for 18 rows: some may have been kept, or none, as the writer woke; no log, even of one row, is so small."""
    given = ("--rate", "lockstep", "--log-hz", 10, "--duration-s", 30)
    with full_disk(30_000):
        result = attitude("loop", "star-tracker", *given, "--out", tmp_path)
    assert result.exit_code == 1
    assert {path.name for path in tmp_path.iterdir()} == {"hil.json", "hil.txt"}
    told = json.loads((tmp_path / "hil.json").read_text())
    kept, lost = told["log"]["written"], told["log"]["failed"]
    assert 300 - 18 <= lost == 300 - kept
    assert f"log: {kept} rows written of 300; 0 lost in a full ring, {lost} failed" in result.stdout
    assert told["not_written"] == (f"results not written to {tmp_path / 'mission.nc'}: File too large" if kept else "")


@pytest.mark.parametrize("name", ["mission.nc", "hil.json", "hil.txt"])
def test_a_recording_is_none_of_the_results(tmp_path, name):
    told = refused("plant", *ONE, "pty:", "--out", tmp_path, "--record", tmp_path / name)
    assert told == f"--record must not be a file that --out {tmp_path} will hold, got {tmp_path / name}"


def test_a_comment_that_looks_like_a_change_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="scenario mine has a line '# replaced: …' that tells no change"):
        scenario_from("# replaced: wheels = the spare set\n", "mine")


def test_a_log_with_numbers_no_mode_has():
    assert log._whole_numbers(np.array([1.0, 3e9])).tolist() == [1.0, 3e9]
    assert log._whole_numbers(np.array([1.0, 2.0])).dtype == np.int32

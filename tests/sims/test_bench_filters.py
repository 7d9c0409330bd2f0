"""The filters of the benchmark: that each adapter estimates the recorded attitude, and the arithmetic of the table."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sims.bench import filters, peer_filters

OPENGNC = pytest.param("OpenGNC MEKF", marks=pytest.mark.peers)
AHRS = pytest.param("ahrs EKF", marks=pytest.mark.peers)
CYCLES = 400
OURS = {one.name: one for one in filters.ours()}


@pytest.fixture(scope="module")
def data():
    """A recording that starts far from identity, so that no wrong sign, order or frame can cancel."""
    return filters.recording(CYCLES, seed=7)


@pytest.fixture(scope="module")
def ours(data):
    return {name: one.prepare(data)() for name, one in OURS.items()}


def contender(name):
    found = {one.name: one for one in peer_filters.installed_filters()}
    if name not in found:
        pytest.skip(f"{name} is not installed: {peer_filters.missing_filters()}")
    return found[name]


def angles(p, q):
    return (Rotation.from_quat(p).inv() * Rotation.from_quat(q)).magnitude()


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def single_frame_error(data):
    """RMS error of Wahba's problem solved anew at each of the last samples, by SciPy: what no filter would have."""
    errors = []
    for b, q in zip(data.vectors[CYCLES // 2 :], data.q[CYCLES // 2 :], strict=True):
        best, _ = Rotation.align_vectors(data.references, b)
        errors.append((best.inv() * Rotation.from_quat(q)).magnitude())
    return rms(errors)


# ------------------------------------------------------------------ the recording
def test_recording_is_what_it_says(data):
    assert data.times[-1] == pytest.approx(CYCLES * data.dt)
    body = np.stack([Rotation.from_quat(data.q).inv().apply(r) for r in data.references], axis=1)
    noise = data.vectors - body
    across = np.sqrt(2 / 3) * data.sigma  # normalising leaves two of three axes
    assert rms(noise) == pytest.approx(across, rel=0.1)  # 1600 draws: 2 %
    turned = (Rotation.from_quat(data.q[:-1]).inv() * Rotation.from_quat(data.q[1:])).as_rotvec() / data.dt
    error = data.gyro[1:] - turned
    assert np.std(error, axis=0) == pytest.approx(data.arw / np.sqrt(data.dt), rel=0.15)  # 400 draws: 3.5 % each
    assert np.abs(error.mean(axis=0)).max() < 4 * data.bias_sigma
    assert np.linalg.norm(error.mean(axis=0)) > 0.2 * data.bias_sigma  # there is a bias to be found


def test_recording_starts_with_the_stated_uncertainty():
    starts = [filters.recording(1, seed) for seed in range(200)]
    angle = rms([angles(one.q0, filters.Q0) for one in starts])
    assert angle == pytest.approx(np.sqrt(3) * starts[0].angle_sigma, rel=0.12)  # 600 draws: 3 % each


# ------------------------------------------------------------------ the adapters
def test_called_is_the_compiled_run_bit_for_bit(ours):
    for name in ("MEKF", "GyroMEKF"):
        assert np.array_equal(ours[f"{name}, compiled run"], ours[f"{name}, one call each"])


@pytest.mark.parametrize("name", [*OURS, OPENGNC, AHRS, "filterpy EKF", "filterpy USQUE"])
def test_filter_beats_the_samples_it_is_given(name, data):
    one = OURS.get(name) or contender(name)
    q = one.prepare(data)()
    error = filters.rms_error(q, data)
    assert error == pytest.approx(rms(angles(q[CYCLES // 2 :], data.q[CYCLES // 2 :])), rel=1e-9)
    assert error < single_frame_error(data)  # a wrong order, sign or frame leaves about 1 rad


@pytest.mark.parametrize("name", [OPENGNC, "filterpy EKF"])
def test_gyro_peers_estimate_what_gyro_mekf_does(name, data, ours):
    q, same = contender(name).prepare(data)(), ours["GyroMEKF, compiled run"]
    apart = rms(angles(q[CYCLES // 2 :], same[CYCLES // 2 :]))
    # same model and noise: 1 + F h and a first-order correction differ by 0.4 % of the error itself
    assert apart < 0.02 * filters.rms_error(same, data)


def test_usque_estimates_what_mekf_does(data, ours):
    q, same = contender("filterpy USQUE").prepare(data)(), ours["MEKF, compiled run"]
    assert rms(angles(q[CYCLES // 2 :], same[CYCLES // 2 :])) < 0.002 * filters.rms_error(same, data)  # 0.03 %


def test_each_preparation_starts_anew(data):
    one = contender("filterpy EKF")
    first = one.prepare(data)()
    assert np.array_equal(first, one.prepare(data)())


@pytest.mark.peers
@pytest.mark.parametrize("name", ["OpenGNC MEKF", "ahrs EKF"])
def test_each_preparation_of_a_peer_starts_anew(name, data):
    one = contender(name)
    assert np.array_equal(one.prepare(data)(), one.prepare(data)())


# ------------------------------------------------------------------ the table
def test_ratios_are_to_the_slower_of_ours():
    peer = replace(filters.ours()[0], name="Peer")
    rows = filters.with_ratios([*filters.ours(), peer], [2.0, 8.0, 1.0, 10.0, 60.0], [0.0] * 5)
    assert [row.over_compiled for row in rows] == [1.0, 4.0, 0.5, 5.0, 30.0]
    assert [row.over_called for row in rows] == [0.2, 0.8, 0.1, 1.0, 6.0]


def test_table_has_ours_first_then_what_it_is_given():
    fractions = []
    peer = contender("filterpy EKF")
    rows = filters.filter_table(filters.Plan(CYCLES, 0.0, 1), lambda what, fraction: fractions.append(fraction), [peer])
    assert [row.name for row in rows] == [*OURS, "filterpy EKF"]
    assert fractions == sorted(fractions)
    for row in rows:
        assert row.seconds_per_cycle > 0.0
        assert 0.0 < row.rms_error < 5e-3


def test_every_filter_is_timed_for_as_long(data, monkeypatch):
    ran = []

    def prepare(part):
        return lambda: ran.append(len(part.times))

    monkeypatch.setattr(filters, "seconds", lambda work: work() or 0.01 * ran[-1])  # each cycle takes 0.01 s
    job = filters._timing(replace(filters.ours()[0], prepare=prepare), data, 0.5)
    assert job() == 0.01
    assert ran == [filters.TRIAL, 50]


def test_missing_packages_are_left_out_with_the_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "opengnc.kalman_filters", None)
    monkeypatch.setitem(sys.modules, "ahrs.filters", None)
    peer_filters._survey.cache_clear()
    try:
        assert list(peer_filters.filter_versions()) == ["filterpy EKF", "filterpy USQUE"]
        assert set(peer_filters.missing_filters()) == {"opengnc", "ahrs"}
        assert "opengnc" in peer_filters.missing_filters()["opengnc"]
    finally:
        peer_filters._survey.cache_clear()

"""Each peer, through its adapter, against SciPy's DOP853 on equations written out here."""

import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from sims.bench import peers

# No symmetry, w < 0 and rates on all axes, so that no wrong sign, order or frame can cancel.
MOMENTS = np.array([2.0, 3.5, 1.7])
Q0 = np.array([0.5, -0.1, 0.7, -0.5]) / np.linalg.norm([0.5, -0.1, 0.7, -0.5])
OMEGA0 = np.array([0.7, -0.4, 0.5])
DURATION = 20.0

SCIPY = ("SciPy RK45", "SciPy DOP853")
OTHERS = ("Basilisk RK4", "Basilisk RKF78", "MuJoCo RK4", "heyoka")
ALL = (*SCIPY, *(pytest.param(name, marks=pytest.mark.peers) for name in OTHERS))
ORDERS = {"Basilisk RK4": 4, "Basilisk RKF78": 7, "MuJoCo RK4": 4}  # of the solution that is carried on
FINE = {"Basilisk RK4": 0.005, "Basilisk RKF78": 0.05, "MuJoCo RK4": 0.005}  # s
TIGHT = 1e-12
SMALL_ERROR = 1e-10  # rad, rad/s: the worst leaves 8e-12; a wrong convention leaves about 1


def peer(name):
    found = {p.name: p for p in peers.installed_peers()}
    if name not in found:
        pytest.skip(f"{name} is not installed: {peers.missing_peers()}")
    return found[name]


def prepared(name, setting=None, moments=MOMENTS, q0=Q0, omega0=OMEGA0):
    setting = setting or FINE.get(name, TIGHT)
    return peer(name).prepare(moments, q0, omega0, setting)


def reference(times, moments=MOMENTS, q0=Q0, omega0=OMEGA0):
    """Rotation matrices (not quaternions, so that no formula is shared) and rates by DOP853."""

    def rates(t, y):
        R, w = y[:9].reshape(3, 3), y[9:]
        hat = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.append((R @ hat).ravel(), np.cross(moments * w, w) / moments)

    y0 = np.append(Rotation.from_quat(q0).as_matrix().ravel(), omega0)
    y = solve_ivp(rates, (0.0, times[-1]), y0, method="DOP853", t_eval=times, rtol=1e-13, atol=1e-13).y.T
    return Rotation.from_matrix(y[:, :9].reshape(-1, 3, 3)), y[:, 9:]


def attitude_errors(motion, expected):
    return (Rotation.from_quat(np.atleast_2d(motion.q)).inv() * expected).magnitude()


@pytest.mark.parametrize("name", ALL)
def test_states_follow_the_reference(name):
    times = np.arange(1, 41) * 0.5
    motion = prepared(name).states(times)
    rotation, omega = reference(times)
    assert motion.q.shape == (40, 4)
    assert attitude_errors(motion, rotation).max() < SMALL_ERROR
    assert np.abs(motion.omega - omega).max() < SMALL_ERROR
    assert np.abs(np.linalg.norm(motion.q, axis=1) - 1.0).max() < 4e-15  # normalised: a few roundings


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("output_step", [None, 0.5])
def test_advance_goes_on_from_where_it_ended(name, output_step):
    run = prepared(name)
    first = run.advance(5.0, output_step)
    final = run.advance(DURATION - 5.0, output_step)
    rotation, omega = reference(np.array([5.0, DURATION]))
    assert attitude_errors(first, rotation[0])[0] < SMALL_ERROR
    assert attitude_errors(final, rotation[1])[0] < SMALL_ERROR
    assert np.abs(final.omega - omega[1]).max() < SMALL_ERROR


@pytest.mark.parametrize("name", ALL)
def test_states_after_advance_count_from_time_zero(name):
    run = prepared(name)
    run.advance(5.0)
    motion = run.states([6.0, DURATION])
    rotation, _ = reference(np.array([6.0, DURATION]))
    assert attitude_errors(motion, rotation).max() < SMALL_ERROR


@pytest.mark.peers
@pytest.mark.parametrize("name", ORDERS)
def test_fixed_step_peer_has_the_order_of_its_method(name):
    steps = [0.8, 0.4]
    rotation, _ = reference(np.array([DURATION]))
    errors = [attitude_errors(prepared(name, h).advance(DURATION), rotation)[0] for h in steps]
    assert abs(np.log2(errors[0] / errors[1]) - ORDERS[name]) < 0.4  # the next order still shows at such steps


@pytest.mark.parametrize("name", [*SCIPY, pytest.param("heyoka", marks=pytest.mark.peers)])
def test_tolerance_decides_the_error(name):
    rotation, _ = reference(np.array([DURATION]))
    errors = [attitude_errors(prepared(name, tol).advance(DURATION), rotation)[0] for tol in (1e-4, 1e-8)]
    assert errors[1] < 1e-2 * errors[0]  # four decades of tolerance; two are asked for
    assert errors[1] < 1e-5


def test_scipy_without_a_setting_uses_its_own_tolerances():
    ours = peer("SciPy RK45").prepare([1.0, 2.0, 3.0], [0, 0, 0, 1], [0.8, -0.6, 0.5])

    def rates(t, y):
        q, w = y[:4], y[4:]
        qdot = 0.5 * np.append(q[3] * w + np.cross(q[:3], w), -q[:3] @ w)
        return np.append(qdot, np.cross(np.array([1, 2, 3]) * w, w) / np.array([1, 2, 3]))

    theirs = solve_ivp(rates, (0, 10), [0, 0, 0, 1, 0.8, -0.6, 0.5], method="RK45").y[:, -1]
    assert np.allclose(ours.advance(10.0).omega, theirs[4:], rtol=0, atol=1e-12)  # same steps: roundoff only


@pytest.mark.peers
def test_heyoka_without_a_setting_works_to_roundoff():
    rotation, _ = reference(np.array([DURATION]))
    final = peer("heyoka").prepare(MOMENTS, Q0, OMEGA0).advance(DURATION, 0.2)
    assert attitude_errors(final, rotation)[0] < 1e-11  # what the reference itself may lose


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("moments", [[1.0, 2.0, 3.0], [0.1, 0.7, 0.8], [3.0, 1.0, 2.0], [1.0, 1.0, 1.0]])
def test_bodies_at_the_edge_of_the_possible(name, moments):
    final = prepared(name, moments=moments).advance(5.0)
    rotation, _ = reference(np.array([5.0]), np.array(moments))
    assert attitude_errors(final, rotation)[0] < SMALL_ERROR


@pytest.mark.parametrize("name", ALL)
def test_peers_print_nothing_and_leave_no_file(name, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prepared(name, 0.2 if name in FINE else None).advance(2.0, 0.2)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [*SCIPY, *(pytest.param(name, marks=pytest.mark.peers) for name in ORDERS)])
@pytest.mark.parametrize("output_step", [None, 5.0])
def test_divergence_is_an_error_without_print_or_file(name, output_step, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = prepared(name, 5.0 if name in FINE else 0.9, [1.0, 2.0, 3.0], omega0=8.0 * OMEGA0)  # step or tolerance
    with pytest.raises(peers.PeerError, match="too coarse"):
        run.advance(1000.0, output_step)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ALL)
def test_bad_input_is_refused_with_the_field_named(name):
    one = peer(name)
    setting = FINE.get(name, TIGHT)
    with pytest.raises(ValueError, match="moments must be"):
        one.prepare([1.0, 2.0, 3.1], Q0, OMEGA0, setting)
    with pytest.raises(ValueError, match="q0 must be"):
        one.prepare(MOMENTS, [0, 0, np.nan, 1], OMEGA0, setting)
    with pytest.raises(ValueError, match="omega0 must be"):
        one.prepare(MOMENTS, Q0, [1.0, 2.0], setting)
    with pytest.raises(ValueError, match="setting must be"):
        one.prepare(MOMENTS, Q0, OMEGA0, -1.0)
    with pytest.raises(ValueError, match="duration must be"):
        one.prepare(MOMENTS, Q0, OMEGA0, setting).advance(-1.0)
    with pytest.raises(ValueError, match="times must be"):
        one.prepare(MOMENTS, Q0, OMEGA0, setting).states([1.0, 1.0])


@pytest.mark.peers
@pytest.mark.parametrize("name", ORDERS)
def test_fixed_step_peer_takes_whole_steps_only(name):
    with pytest.raises(ValueError, match="setting must be a positive step"):
        peer(name).prepare(MOMENTS, Q0, OMEGA0)
    run = prepared(name, 0.2)
    with pytest.raises(ValueError, match="duration must be a whole number of steps"):
        run.advance(0.3)
    with pytest.raises(ValueError, match="output_step must be a whole number of steps"):
        run.advance(0.6, 0.3)


@pytest.mark.peers
def test_basilisk_takes_whole_nanoseconds_only():
    with pytest.raises(ValueError, match="setting must be a whole number of steps of 1e-09 s"):
        prepared("Basilisk RK4", 2.0 / 3.0)


def test_a_package_that_does_not_import_is_left_out_with_its_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "heyoka", None)
    monkeypatch.delitem(sys.modules, "sims.bench.peer_heyoka", raising=False)
    peers._survey.cache_clear()
    try:
        assert "heyoka" not in peers.peer_versions()
        assert "heyoka" in peers.missing_peers()["heyoka"]
        assert set(SCIPY) <= set(peers.peer_versions())
    finally:
        peers._survey.cache_clear()

"""Disturbance torques against closed forms and sums over point masses."""

import numpy as np
import pytest

from attitude.core import quaternion
from attitude.environment.disturbances import (
    DIPOLE,
    DRAG,
    EARTH_MU,
    GRAVITY_GRADIENT,
    SOLAR,
    TOTAL,
    Disturbances,
    Face,
    box,
    disturbance_kernel,
)
from attitude.environment.frames import EARTH_RATE
from attitude.environment.grid import ALBEDO_I, B_I, DENSITY, FLUX, Q_IE, R_I, SIZE, SUN_I, SUNLIGHT, V_I
from attitude.environment.sun import SOLAR_PRESSURE
from attitude.truth import potentials_kernels
from attitude.truth.potentials import OrbitingBody

INERTIA = np.array([[0.05, 0.001, 0.0], [0.001, 0.06, -0.002], [0.0, -0.002, 0.02]])
NO_TURN = np.array([0.0, 0.0, 0.0, 1.0])


def environment(**changes):
    e = np.zeros(SIZE)
    e[R_I], e[V_I], e[B_I] = [7e6, 0, 0], [0, 7.5e3, 0], [2e-5, -1e-5, 3e-5]
    e[SUN_I], e[Q_IE], e[SUNLIGHT], e[FLUX], e[DENSITY] = [1, 0, 0], [0, 0, 0, 1], 1.0, 1.0, 1e-12
    for name, value in changes.items():
        e[globals()[name]] = value
    return e


def craft(faces=(), dipole=(0.0, 0.0, 0.0), **switches):
    return Disturbances(inertia=INERTIA, residual_dipole_B_am2=dipole, faces=faces, **switches)


def plate(**changes):
    given = {
        "normal_B": [1, 0, 0], "area_m2": 0.02, "centre_of_pressure_B_m": [0.0, 0.1, 0.0], "drag_coefficient": 2.2,
        "specular": 0.0, "diffuse": 0.0,
    }  # fmt: skip
    return Face(**{**given, **changes})


def attitudes(count, seed=1):
    return quaternion.normalise(np.random.default_rng(seed).normal(size=(count, 4)))


def cubesat(**changes):
    given = {
        "size_m": [0.1, 0.1, 0.34], "centre_of_mass_m": [0, 0, 0], "drag_coefficient": 2.2, "specular": 0.0,
        "diffuse": 0.0,
    }  # fmt: skip
    return box(**{**given, **changes})


# ------------------------------------------------------------------ gravity gradient
def test_gravity_gradient_is_the_moment_of_the_orbiting_body():
    """Axis 3 of the orbit frame is radial, and ω0² = μ/r³."""
    r = 6.9e6
    body = OrbitingBody(inertia=INERTIA, orbital_rate=np.sqrt(EARTH_MU / r**3))
    for q in attitudes(20):
        expected = np.empty((1, 3))
        potentials_kernels.moment(body.kind, quaternion.to_matrix(q)[None], np.array(body.parameters), expected)
        found = craft().torques(q, environment(R_I=[0, 0, r]))[GRAVITY_GRADIENT]
        assert found == pytest.approx(expected[0], rel=1e-12, abs=1e-21)


def test_gravity_gradient_of_point_masses():
    """Newton's law on each of some masses about their centre; the next term is smaller by size/r."""
    rng = np.random.default_rng(2)
    masses, places = rng.uniform(0.5, 2.0, 8), rng.normal(size=(8, 3))
    places -= masses @ places / masses.sum()
    inertia = sum(m * ((p @ p) * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, places, strict=True))
    r = np.array([3e5, -5e5, 4e5])  # near the centre: farther out the forces differ by rounding only
    difference = -EARTH_MU * np.array(
        [(r + p) / np.linalg.norm(r + p) ** 3 - r / np.linalg.norm(r) ** 3 for p in places]
    )
    torque = np.sum(masses[:, None] * np.cross(places, difference), axis=0)
    found = Disturbances(inertia=inertia, residual_dipole_B_am2=[0, 0, 0], faces=()).torques(
        NO_TURN, environment(R_I=r)
    )
    assert found[GRAVITY_GRADIENT] == pytest.approx(torque, rel=1e-4)


def test_no_gravity_gradient_along_a_principal_axis():
    body = Disturbances(inertia=np.diag([1.0, 2.0, 2.5]), residual_dipole_B_am2=[0, 0, 0], faces=())
    assert not body.torques(NO_TURN, environment()).any()


# ------------------------------------------------------------------ dipole
def test_dipole_in_body_axes():
    dipole, e = np.array([0.01, -0.02, 0.005]), environment()
    for q in attitudes(5):
        b_B = quaternion.rotate_back(q, e[B_I])
        assert craft(dipole=dipole).torques(q, e)[DIPOLE] == pytest.approx(np.cross(dipole, b_B), rel=1e-12, abs=1e-22)


# ------------------------------------------------------------------ drag
STILL = {"V_I": [0.0, 7.5e3 + EARTH_RATE * 7e6, 0.0]}  # 7.5 km/s through the air


def test_drag_on_a_plate():
    """`½ ρ C_D A v²` against the motion, with an arm of 0.1 m across it."""
    face = plate(normal_B=[0, 1, 0], centre_of_pressure_B_m=[0.1, 0.0, 0.0])
    force = 0.5 * 1e-12 * 2.2 * 0.02 * 7.5e3**2
    found = craft([face]).torques(NO_TURN, environment(**STILL))[DRAG]
    assert found == pytest.approx([0.0, 0.0, -0.1 * force], rel=1e-12, abs=1e-20)


def test_drag_on_an_inclined_plate_falls_with_the_cosine():
    half = np.radians(60.0) / 2
    q = np.array([0.0, 0.0, np.sin(half), np.cos(half)])
    face = plate(normal_B=[0, 1, 0], centre_of_pressure_B_m=[0.0, 0.0, 0.1])
    found = craft([face]).torques(q, environment(**STILL))[DRAG]
    assert np.linalg.norm(found) == pytest.approx(0.5 * 0.1 * 0.5 * 1e-12 * 2.2 * 0.02 * 7.5e3**2, rel=1e-12)


def test_the_air_turns_with_the_earth():
    face = plate(normal_B=[0, 1, 0], centre_of_pressure_B_m=[0.1, 0.0, 0.0])
    assert not craft([face]).torques(NO_TURN, environment(V_I=[0.0, EARTH_RATE * 7e6, 0.0]))[DRAG].any()


def test_the_air_turns_about_the_axis_of_the_earth():
    """Seen from any side: a plate across the motion, its arm along its own first axis."""
    rng = np.random.default_rng(8)
    for q_IE in attitudes(10, seed=9):
        e = environment(R_I=7e6 * rng.normal(size=3), V_I=5e3 * rng.normal(size=3), Q_IE=q_IE)
        wind = e[V_I] - np.cross(quaternion.rotate(q_IE, [0, 0, EARTH_RATE]), e[R_I])
        speed = np.linalg.norm(wind)
        face = plate(normal_B=wind, centre_of_pressure_B_m=[0.1, 0.0, 0.0])
        expected = np.cross([0.1, 0.0, 0.0], -0.5 * 1e-12 * 2.2 * 0.02 * speed * wind)
        assert craft([face]).torques(NO_TURN, e)[DRAG] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("row", [DRAG, SOLAR])
def test_a_box_about_its_centre_feels_no_torque(row):
    """Forces along one direction over a body symmetric about its centre of mass."""
    size = craft(cubesat(centre_of_mass_m=[0.02, -0.01, 0.03])).torques(attitudes(1)[0], environment())[row]
    for q in attitudes(20, seed=4):
        found = craft(cubesat()).torques(q, environment())[row]
        assert np.abs(found).max() < 1e-12 * np.abs(size).max()


@pytest.mark.parametrize(("row", "direction"), [(DRAG, V_I), (SOLAR, SUN_I)])
def test_a_box_off_centre_feels_its_projected_area(row, direction):
    """Absorbed light and drag: pressure × area seen × direction, at the box's centre."""
    size, offset = np.array([0.1, 0.2, 0.34]), np.array([0.02, -0.01, 0.03])
    areas = size.prod() / size
    faces = cubesat(size_m=size, centre_of_mass_m=offset)
    e = environment(**STILL)
    for q in attitudes(20, seed=5):
        along = e[direction] - (np.cross([0, 0, EARTH_RATE], e[R_I]) if row == DRAG else 0.0)
        u = quaternion.rotate_back(q, along / np.linalg.norm(along))
        pressure = 0.5 * 1e-12 * 2.2 * 7.5e3**2 if row == DRAG else SOLAR_PRESSURE
        expected = np.cross(-offset, -pressure * (np.abs(u) @ areas) * u)
        assert craft(faces).torques(q, e)[row] == pytest.approx(expected, rel=1e-9, abs=1e-24)


# ------------------------------------------------------------------ solar pressure
@pytest.mark.parametrize(
    ("specular", "diffuse", "pressures"), [(0, 0, 1.0), (1, 0, 2.0), (0, 1, 5 / 3), (0.3, 0.2, 1.3 + 0.4 / 3)]
)
def test_light_that_falls_straight_on_a_plate(specular, diffuse, pressures):
    found = craft([plate(specular=specular, diffuse=diffuse)]).torques(NO_TURN, environment())[SOLAR]
    assert found == pytest.approx([0.0, 0.0, 0.1 * pressures * SOLAR_PRESSURE * 0.02], rel=1e-12, abs=1e-25)


def test_a_mirror_is_pushed_along_its_normal():
    slant = environment(SUN_I=[0.6, 0.0, 0.8])
    lever = [plate(specular=1.0, centre_of_pressure_B_m=c) for c in ([0.3, 0, 0], [0, 0.1, 0])]
    along, across = (craft([face]).torques(NO_TURN, slant)[SOLAR] for face in lever)
    assert np.abs(along).max() < 1e-25
    assert across == pytest.approx([0, 0, 0.1 * 2 * SOLAR_PRESSURE * 0.02 * 0.6**2], rel=1e-12, abs=1e-25)


def test_solar_pressure_number():
    assert pytest.approx(4.54e-6, rel=1e-3) == SOLAR_PRESSURE  # N/m²


def test_sunlight_and_distance_scale_the_torque():
    face = [plate()]
    full = craft(face).torques(NO_TURN, environment())[SOLAR]
    assert craft(face).torques(NO_TURN, environment(SUNLIGHT=0.25, FLUX=0.9))[SOLAR] == pytest.approx(0.225 * full)
    assert not craft(face).torques(NO_TURN, environment(SUNLIGHT=0.0))[SOLAR].any()


def test_a_face_that_looks_away_takes_no_part():
    away = [plate(normal_B=[-1, 0, 0]), plate(normal_B=[0, -1, 0]), plate(normal_B=[0, 0, 1])]
    found = craft(away).torques(NO_TURN, environment(**STILL))
    assert not found[SOLAR].any()
    assert not found[DRAG].any()


def test_albedo_pushes_too_even_in_eclipse():
    night = environment(SUNLIGHT=0.0, ALBEDO_I=[0.2, 0.0, 0.0])
    found = craft([plate()]).torques(NO_TURN, night)[SOLAR]
    assert found == pytest.approx([0.0, 0.0, 0.1 * 0.2 * SOLAR_PRESSURE * 0.02], rel=1e-12, abs=1e-25)
    assert night[ALBEDO_I][0] == 0.2


# ------------------------------------------------------------------ all together
def test_total_and_switches():
    q, e = attitudes(1, seed=7)[0], environment(ALBEDO_I=[0.1, 0.1, 0.0])
    faces, dipole = cubesat(centre_of_mass_m=[0.01, 0.0, 0.02]), [0.01, 0.0, 0.02]
    found = craft(faces, dipole).torques(q, e)
    assert np.abs(found[:TOTAL]).max(axis=1).all()
    assert found[TOTAL] == pytest.approx(found[:TOTAL].sum(axis=0), rel=1e-14)
    for row, name in ((GRAVITY_GRADIENT, "gravity_gradient"), (DRAG, "drag"), (SOLAR, "solar_pressure")):
        without = craft(faces, dipole, **{name: False}).torques(q, e)
        assert not without[row].any()
        assert without[TOTAL] == pytest.approx(found[TOTAL] - found[row], rel=1e-9, abs=1e-20)


def test_one_signature():
    craft().torques(NO_TURN, environment())
    assert len(disturbance_kernel.signatures) == 1


def test_faces_of_a_box():
    faces = cubesat(size_m=[1.0, 2.0, 3.0], centre_of_mass_m=[0.1, 0.0, 0.0])
    assert sorted(face.area_m2 for face in faces) == pytest.approx([2, 2, 3, 3, 6, 6])
    assert sum(face.area_m2 * face.normal_B for face in faces) == pytest.approx([0, 0, 0])
    assert faces[0].centre_of_pressure_B_m == pytest.approx([0.4, 0, 0])
    assert faces[3].centre_of_pressure_B_m == pytest.approx([-0.6, 0, 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: plate(area_m2=-1.0), "area_m2 must be greater than zero, got -1.0"),
        (lambda: plate(normal_B=[0, 0, 0]), "normal_B must not have zero length"),
        (lambda: plate(drag_coefficient=-2.0), "drag_coefficient must not be negative"),
        (lambda: plate(specular=0.7, diffuse=0.6), r"specular \+ diffuse must be at most 1, got 0.7 \+ 0.6"),
        (lambda: cubesat(size_m=[0.1, 0.0, 0.3]), "size_m must be greater than zero"),
        (lambda: cubesat(centre_of_mass_m=[0.1, 0.0, 0.0]), "centre_of_mass_m must lie inside the box"),
        (lambda: craft([1.0]), "faces must be a sequence of Face, got 1.0"),
        (lambda: craft(dipole=[1.0]), "residual_dipole_B_am2 must have shape"),
        (lambda: craft().torques(NO_TURN, np.zeros(3)), "environment must have shape"),
        (lambda: craft().torques([0, 0, 0, 2], environment()), "q must be a unit quaternion"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()

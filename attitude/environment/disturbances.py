"""Disturbance torques in body axes: gravity gradient, residual dipole, drag and solar pressure on flat faces.

The body is convex: a face that looks away from the Sun or the wind takes no part, and no face shades another. A face's
force acts at its centre of pressure. None of the models has a state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array, kernel, on_warm_up
from attitude.core.linalg import times3
from attitude.core.quaternion import rotate_xyz
from attitude.environment.frames import EARTH_RATE
from attitude.environment.grid import DENSITY, FLUX, SIZE, SUNLIGHT
from attitude.environment.sun import SOLAR_PRESSURE

EARTH_MU = 3.986004418e14  # m³/s² (WGS 84)
GRAVITY_GRADIENT, DIPOLE, DRAG, SOLAR, TOTAL = 0, 1, 2, 3, 4  # rows of the kernel's output
ROWS = 5
MAX_DIPOLE = 1e3  # A·m²: a hundred times the largest spacecraft's


@dataclass(frozen=True, kw_only=True, eq=False)
class Face:
    """Flat face with outward normal, area and centre of pressure relative to the centre of mass, body axes.

    Of the light, the share `specular` is mirrored, `diffuse` scattered evenly, and the rest absorbed.
    """

    normal_B: ArrayLike
    area_m2: float
    centre_of_pressure_B_m: ArrayLike
    drag_coefficient: float
    specular: float
    diffuse: float

    def __post_init__(self) -> None:
        """Check every field."""
        checks.positive(self.area_m2, "area_m2")
        checks.not_negative(self.drag_coefficient, "drag_coefficient")
        specular = checks.not_negative(self.specular, "specular")
        diffuse = checks.not_negative(self.diffuse, "diffuse")
        if specular + diffuse > 1.0:
            raise ValueError(f"specular + diffuse must be at most 1, got {specular} + {diffuse}")
        object.__setattr__(self, "normal_B", checks.unit_axis(self.normal_B, "normal_B"))
        centre = checks.array(self.centre_of_pressure_B_m, "centre_of_pressure_B_m", (3,))
        object.__setattr__(self, "centre_of_pressure_B_m", centre)

    def row(self) -> Array:
        """Normal, centre of pressure, area, drag coefficient, specular, diffuse: `(10,)`."""
        numbers = [self.area_m2, self.drag_coefficient, self.specular, self.diffuse]
        return np.concatenate([np.asarray(self.normal_B), np.asarray(self.centre_of_pressure_B_m), numbers])


def box(
    *, size_m: ArrayLike, centre_of_mass_m: ArrayLike, drag_coefficient: float, specular: float, diffuse: float
) -> tuple[Face, ...]:
    """The six faces of a box of edges `size_m` along the body axes; `centre_of_mass_m` is seen from its centre."""
    size = checks.array(size_m, "size_m", (3,))
    if (size <= 0.0).any():
        raise ValueError(f"size_m must be greater than zero, got {size.tolist()}")
    offset = checks.array(centre_of_mass_m, "centre_of_mass_m", (3,))
    if (np.abs(offset) > 0.5 * size).any():
        raise ValueError(f"centre_of_mass_m must lie inside the box of {size.tolist()} m, got {offset.tolist()}")
    normals = np.concatenate([np.eye(3), -np.eye(3)])
    return tuple(
        Face(
            normal_B=normal,
            area_m2=float(size.prod() / (np.abs(normal) @ size)),
            centre_of_pressure_B_m=0.5 * size * normal - offset,
            drag_coefficient=drag_coefficient,
            specular=specular,
            diffuse=diffuse,
        )
        for normal in normals
    )


class DisturbanceParameters(NamedTuple):
    """For the kernel: inertia `(3, 3)`, kg·m², dipole `(3,)`, A·m², faces `(F, 10)`, and 0 or 1 for each torque."""

    inertia: Array
    dipole: Array
    faces: Array
    gravity_gradient: float
    drag: float
    solar_pressure: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Disturbances:
    """What the environment can grip: inertia of the whole spacecraft, its residual dipole and its faces.

    No faces means neither drag nor solar pressure; each torque can also be left out by its switch.
    """

    inertia: ArrayLike
    residual_dipole_B_am2: ArrayLike
    faces: Sequence[Face]
    gravity_gradient: bool = True
    drag: bool = True
    solar_pressure: bool = True

    def __post_init__(self) -> None:
        """Check every field."""
        object.__setattr__(self, "inertia", checks.inertia(self.inertia))
        dipole = checks.array(self.residual_dipole_B_am2, "residual_dipole_B_am2", (3,))
        if np.abs(dipole).max() > MAX_DIPOLE:
            raise ValueError(f"residual_dipole_B_am2 must be at most {MAX_DIPOLE:g} A m2, got {dipole.tolist()}")
        object.__setattr__(self, "residual_dipole_B_am2", dipole)
        object.__setattr__(self, "faces", tuple(self.faces))
        for face in self.faces:
            if not isinstance(face, Face):
                raise ValueError(f"faces must be a sequence of Face, got {face!r}")

    def parameters(self) -> DisturbanceParameters:
        """For the kernel."""
        return DisturbanceParameters(
            np.array(self.inertia),
            np.array(self.residual_dipole_B_am2),
            np.array([face.row() for face in self.faces]).reshape(-1, 10),
            float(self.gravity_gradient),
            float(self.drag),
            float(self.solar_pressure),
        )

    def torques(self, q: ArrayLike, environment: ArrayLike) -> Array:
        """Torques `(5, 3)`, N·m, body axes: gravity gradient, dipole, drag, solar pressure, total.

        `q` is the attitude, `environment` `(22,)` the output of `environment_kernel`.
        """
        out = np.empty((ROWS, 3))
        values = checks.array(environment, "environment", (SIZE,))
        disturbance_kernel(self.parameters(), checks.unit_quaternion(q, "q"), values, out)
        return out


@kernel
def gravity_gradient_kernel(J: Array, x: float, y: float, z: float, out: Array) -> None:
    """`3 μ/r³ n × J n`, `n` the unit vector of the position `(x, y, z)`, m, in body axes.

    Markley & Crassidis 2014, section 3.3.6; a point Earth.
    """
    r2 = x * x + y * y + z * z
    k = 3.0 * EARTH_MU / (r2 * r2 * math.sqrt(r2))
    u, v, w = times3(J, x, y, z)
    out[0], out[1], out[2] = k * (y * w - z * v), k * (z * u - x * w), k * (x * v - y * u)


@kernel
def dipole_kernel(m: Array, x: float, y: float, z: float, out: Array) -> None:
    """`m × B`, the field `(x, y, z)` in T, body axes."""
    a, b, c = m[0], m[1], m[2]
    out[0], out[1], out[2] = b * z - c * y, c * x - a * z, a * y - b * x


@kernel
def drag_kernel(faces: Array, density: float, x: float, y: float, z: float, out: Array) -> None:
    """Drag torque; `(x, y, z)` is the velocity through the air, m/s, body axes.

    Each face takes `−½ ρ C_D A |v| v max(cos θ, 0)` (Markley & Crassidis 2014, section 3.3.6).
    """
    tx = ty = tz = 0.0
    for k in range(faces.shape[0]):
        f = faces[k]
        facing = f[0] * x + f[1] * y + f[2] * z  # |v| cos θ
        if facing > 0.0:
            p = -0.5 * density * f[7] * f[6] * facing
            tx += p * (f[4] * z - f[5] * y)
            ty += p * (f[5] * x - f[3] * z)
            tz += p * (f[3] * y - f[4] * x)
    out[0], out[1], out[2] = tx, ty, tz


@kernel
def radiation_kernel(faces: Array, pressure: float, x: float, y: float, z: float, out: Array) -> None:
    """Add the torque of light of the given pressure, N/m², from the unit direction `(x, y, z)`, body axes.

    Each face takes `−P A max(cos θ, 0) [2 (diffuse/3 + specular cos θ) n + (1 − specular) s]` (Markley & Crassidis
    2014, section 3.3.6).
    """
    for k in range(faces.shape[0]):
        f = faces[k]
        cosine = f[0] * x + f[1] * y + f[2] * z
        if cosine > 0.0:
            p = -pressure * f[6] * cosine
            along, light = 2.0 * p * (f[9] / 3.0 + f[8] * cosine), p * (1.0 - f[8])
            u, v, w = along * f[0] + light * x, along * f[1] + light * y, along * f[2] + light * z
            out[0] += f[4] * w - f[5] * v
            out[1] += f[5] * u - f[3] * w
            out[2] += f[3] * v - f[4] * u


@kernel
def _air_velocity(e: Array) -> tuple[float, float, float]:
    """Velocity through air that turns with the Earth, inertial axes, m/s; `e` is the environment."""
    px, py, pz = rotate_xyz(e[12], e[13], e[14], e[15], 0.0, 0.0, EARTH_RATE)
    x, y, z = e[0], e[1], e[2]
    return e[3] - (py * z - pz * y), e[4] - (pz * x - px * z), e[5] - (px * y - py * x)


@kernel
def disturbance_kernel(parameters: DisturbanceParameters, q: Array, environment: Array, out: Array) -> None:
    """Rows of `out` `(5, 3)`: gravity gradient, dipole, drag, solar pressure, total; N·m, body axes."""
    e = environment
    a, b, c, d = -q[0], -q[1], -q[2], q[3]
    for i in range(ROWS):
        out[i, 0] = out[i, 1] = out[i, 2] = 0.0
    if parameters.gravity_gradient > 0.0:
        x, y, z = rotate_xyz(a, b, c, d, e[0], e[1], e[2])
        gravity_gradient_kernel(parameters.inertia, x, y, z, out[GRAVITY_GRADIENT])
    x, y, z = rotate_xyz(a, b, c, d, e[6], e[7], e[8])
    dipole_kernel(parameters.dipole, x, y, z, out[DIPOLE])
    if parameters.drag > 0.0:
        vx, vy, vz = _air_velocity(e)
        x, y, z = rotate_xyz(a, b, c, d, vx, vy, vz)
        drag_kernel(parameters.faces, e[DENSITY], x, y, z, out[DRAG])
    if parameters.solar_pressure > 0.0:
        x, y, z = rotate_xyz(a, b, c, d, e[9], e[10], e[11])
        radiation_kernel(parameters.faces, SOLAR_PRESSURE * e[FLUX] * e[SUNLIGHT], x, y, z, out[SOLAR])
        strength = math.sqrt(e[16] ** 2 + e[17] ** 2 + e[18] ** 2)
        if strength > 0.0:
            x, y, z = rotate_xyz(a, b, c, d, e[16] / strength, e[17] / strength, e[18] / strength)
            radiation_kernel(parameters.faces, SOLAR_PRESSURE * strength, x, y, z, out[SOLAR])
    for i in range(TOTAL):
        for k in range(3):
            out[TOTAL, k] += out[i, k]


@on_warm_up
def _warm_up() -> None:
    disturbances = Disturbances(inertia=np.eye(3), residual_dipole_B_am2=[0, 0, 0], faces=())
    disturbances.torques([0, 0, 0, 1], np.ones(SIZE))

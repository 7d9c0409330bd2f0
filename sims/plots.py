"""The figures of a mission, from its log alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from attitude.core import quaternion
from attitude.core.jit import Array
from attitude.spacecraft.frames import SENSOR_NAMES
from sims import canvas as look
from sims import log as logs
from sims.canvas import AXES, FEW_DECADES, INK, QUIET, SECOND, STYLE, Canvas, log_scale, png
from sims.events import sensor_name
from sims.flown import OUTER, Flown, Mask, intervals, references
from sims.ground_track import broken, ground_track, visibility_circle
from sims.output import write_whole
from sims.summary import DETUMBLED_DEG_S, SETTLE_S

RPM = 30.0 / np.pi
LINEAR_BELOW = 0.1  # deg/s: rates are shown linear below it, logarithmic above


@dataclass(frozen=True)
class Picture:
    """A drawn figure: `name` of its file without the ending, and what it shows."""

    name: str
    title: str
    caption: str
    png: bytes

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"{self.name}.png"


def draw(log: xr.Dataset, progress: Callable[[str, float], object] | None = None) -> list[Picture]:
    """All figures that make sense for this log."""
    flown, pictures = Flown(log), []
    for k, (name, title, caption, make, applies) in enumerate(FIGURES):
        if progress is not None:
            progress(title, k / len(FIGURES))
        if applies(flown):
            with rc_context(STYLE):
                figure = make(flown, title)
            pictures.append(Picture(name, title, caption, png(figure)))
    return pictures


def save(pictures: Sequence[Picture], out: Path) -> list[Path]:
    """Write each as a PNG file into the folder `out`, made if needed; returns their names, relative to it."""
    out.mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        write_whole(out / picture.file, picture.png)
    return [Path(picture.file) for picture in pictures]


# ------------------------------------------------------------------ figures over time
def rates(flown: Flown, title: str) -> Figure:
    """True and estimated rate, their components and difference."""
    canvas = Canvas(flown, title, ("|ω|, deg/s", "ω, body axes,\ndeg/s", "|estimate − truth|,\ndeg/s"))
    total, parts, difference = canvas.panels
    true, estimated = np.degrees(flown["truth_omega_B"]), np.degrees(flown["estimate_omega_B"])
    canvas.line(total, np.linalg.norm(estimated, axis=1), look.MORE[4], "estimate", lw=1.6)
    canvas.line(total, np.linalg.norm(true, axis=1), INK, "truth")
    total.axhline(DETUMBLED_DEG_S, color="#444444", lw=0.9, ls="--", label=f"{DETUMBLED_DEG_S:g} deg/s")
    log_scale(total)
    canvas.lines(parts, true, AXES)
    parts.set_yscale("symlog", linthresh=LINEAR_BELOW, linscale=0.6)
    canvas.line(difference, np.linalg.norm(estimated - true, axis=1), INK, lw=0.7)
    log_scale(difference)
    return canvas.finish()


def attitude_error(flown: Flown, title: str) -> Figure:
    """Error of the estimate about each body axis, with the filter's own 3σ."""
    canvas = Canvas(flown, title, [f"about {axis}, deg" for axis in AXES])
    error, band = np.degrees(flown.knowledge_B), np.degrees(3.0 * flown["estimate_sigma_B"])
    band = np.where(flown.running[:, None], band, np.nan)
    for k, axes in enumerate(canvas.panels):
        canvas.band(axes, band[:, k], QUIET, "filter's ±3σ")
        canvas.line(axes, error[:, k], look.COLOURS[k], "error", lw=0.7)
        _robust(axes, np.stack([error[:, k], band[:, k]], axis=1))
        settled = flown.within[flown.running & (flown.known_s >= SETTLE_S), k]
        axes.plot([], [], " ", label=f"{100.0 * settled.mean():.1f} % within" if settled.size else "")
    return canvas.finish()


def pointing_error(flown: Flown, title: str) -> Figure:
    """True attitude against the true reference."""
    canvas = Canvas(flown, title, ("angle, deg",), inches=3.6)
    (axes,) = canvas.panels
    tracked = _tracked(flown)
    canvas.shade(axes, tracked, look.TRACKED, alpha=0.9)
    onboard = quaternion.angle_between(flown["control_reference_q_IB"], flown["estimate_q_IB"])
    onboard = np.where(flown.running & (flown.pointing >= 0) & (onboard > 0.0), np.degrees(onboard), np.nan)
    true = np.degrees(flown.pointing_error)
    canvas.line(axes, onboard, "#b9b9b9", "as seen on board,\nslew included", lw=0.7)
    canvas.line(axes, np.where(true > 0.0, true, np.nan), INK, "true error")
    goal = logs.goals(flown.log).get("pointing_deg")
    if goal is not None:
        axes.axhline(goal, color="#444444", lw=0.9, ls="--", label=f"goal, {goal:g} deg")
    log_scale(axes)
    _raise_floor(axes, onboard)
    return canvas.finish(*([Patch(color=look.TRACKED, label="target tracked")] if tracked.any() else []))


def wheels(flown: Flown, title: str) -> Figure:
    """Momentum, speed and torque of each wheel."""
    canvas = Canvas(flown, title, ("momentum, mN m s", "speed, rpm", "torque, mN m"))
    momentum, speed, torque = canvas.panels
    names = [f"wheel {i + 1}" for i in range(flown["truth_wheel_speed"].shape[1])]
    canvas.lines(momentum, 1e3 * flown["truth_wheel_momentum"], names)
    canvas.limits(momentum, 1e3 * logs.limit(flown.log, "truth_wheel_momentum"))
    canvas.lines(speed, RPM * flown["truth_wheel_speed"])
    canvas.limits(speed, RPM * logs.limit(flown.log, "truth_wheel_speed"))
    canvas.lines(torque, 1e3 * flown["truth_wheel_torque"], lw=0.7)
    return canvas.finish()


def dipoles(flown: Flown, title: str) -> Figure:
    """What the torquers were told and what they did."""
    canvas = Canvas(flown, title, ("command, A m²", "mean dipole,\nbody axes, A m²", "torque, body axes,\nµN m"))
    command, mean, torque = canvas.panels
    count = flown["command_dipole"].shape[1]
    canvas.lines(command, flown["command_dipole"], [f"torquer {i + 1}" for i in range(count)], lw=0.7)
    canvas.limits(command, logs.limit(flown.log, "command_dipole"))
    canvas.lines(mean, flown["truth_dipole_B"], AXES, lw=0.7)
    canvas.lines(torque, 1e6 * flown["truth_torque_magnetic_B"], AXES, lw=0.7)
    return canvas.finish()


def field_and_eclipse(flown: Flown, title: str) -> Figure:
    """Magnetic field and sunlight."""
    canvas = Canvas(flown, title, ("|B|, µT", "B, inertial axes, µT", "visible part\nof the Sun"), inches=1.55)
    total, parts, sun = canvas.panels
    field = 1e6 * flown["truth_b_I"]
    canvas.line(total, np.linalg.norm(field, axis=1), INK)
    canvas.lines(parts, field, AXES)
    canvas.line(sun, flown["truth_sunlight"], look.MORE[4], lw=1.4)
    sun.set_ylim(-0.05, 1.1)
    return canvas.finish()


def audit(flown: Flown, title: str) -> Figure:
    """Momentum and energy of the plant, and what of them is not accounted for."""
    labels = ("|momentum|,\nmN m s", "residual of\nmomentum", "energy, mJ", "residual of\nenergy")
    canvas = Canvas(flown, title, labels, inches=1.4)
    momentum, off, energy, lost = canvas.panels
    canvas.line(momentum, 1e3 * np.linalg.norm(flown["truth_momentum_I"], axis=1), INK, "all")
    canvas.line(momentum, 1e3 * np.linalg.norm(flown["truth_impulse_I"], axis=1), SECOND, "given by\nouter torques")
    canvas.line(off, flown.momentum_residual, INK, "of the largest\n|momentum|")
    canvas.line(energy, 1e3 * flown["truth_energy"], INK, "all")
    work = flown["truth_work"] - flown["truth_work"][0] + flown["truth_energy"][0]
    canvas.line(energy, 1e3 * work, SECOND, "start and work\nof all torques", ls="--")
    canvas.line(lost, np.abs(flown.energy_residual), INK, "of the largest\nenergy")
    for axes, values in ((off, flown.momentum_residual), (lost, flown.energy_residual)):
        if np.any(values != 0.0):
            log_scale(axes)
    if np.max(flown["truth_energy"]) > FEW_DECADES * np.min(flown["truth_energy"]) > 0.0:
        log_scale(energy)
    return canvas.finish()


def disturbances(flown: Flown, title: str) -> Figure:
    """Size of each outer torque."""
    canvas = Canvas(flown, title, ("torque, N m",), inches=3.6)
    (axes,) = canvas.panels
    names = {"gravity": "gravity\ngradient", "residual": "residual\ndipole", "drag": "drag", "solar": "solar\npressure"}
    for colour, kind in zip(look.MORE, OUTER, strict=False):
        size = np.linalg.norm(flown[f"truth_torque_{kind}_B"], axis=1)
        if size.any():
            canvas.line(axes, np.where(size > 0.0, size, np.nan), colour, names[kind], lw=0.8)
    log_scale(axes)
    return canvas.finish()


def damper(flown: Flown, title: str) -> Figure:
    """How a Kane damper brings the spin to rest on one axis."""
    canvas = Canvas(flown, title, ("damper's rate less\nthe body's, deg/s", "angle of rate to\nmomentum, deg"))
    relative, angle = canvas.panels
    slip = np.degrees(np.linalg.norm(flown["truth_damper_omega_B"] - flown["truth_omega_B"], axis=1))
    canvas.line(relative, np.maximum(slip, 1e-9), INK)
    canvas.line(angle, np.maximum(np.degrees(flown.wobble), 1e-9), INK)
    log_scale(relative)
    log_scale(angle)
    return canvas.finish()


# ------------------------------------------------------------------ timeline and map
def timeline(flown: Flown, title: str) -> Figure:
    """Modes, sensor faults, eclipses and what goes on besides, as bars."""
    bars = list(_bars(flown))
    canvas = Canvas(flown, title, ("",), inches=0.36 * len(bars))
    (axes,) = canvas.panels
    for row, (_, mask, colour) in enumerate(bars):
        spans = [canvas.span(interval) for interval in intervals(mask, flown.t)]
        axes.broken_barh([(begin, end - begin) for begin, end in spans], (row - 0.36, 0.72), color=colour, lw=look.HAIR)
    axes.set_yticks(range(len(bars)), [name for name, _, _ in bars], fontsize=8.5)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    return canvas.finish()


def _bars(flown: Flown) -> Iterator[tuple[str, Mask, str]]:
    """Name, rows and colour of each bar, from top to bottom."""
    for mode, colour in look.MODE_COLOURS.items():
        yield mode.name.lower(), flown.in_mode(mode), colour
    others = (
        ("attitude known", flown.running, INK),
        ("slew", np.asarray(flown["control_slewing"] == 1), look.MORE[5]),
        ("target tracked", _tracked(flown), look.MORE[2]),
        ("dumping", np.asarray(flown["control_dumping"] == 1), look.MORE[7]),
        ("eclipse", flown.eclipse, "#7c86a3"),
        *((f"{sensor_name(name)}\nfaulty", flown.bits("estimate_faulty", name), "#b00020") for name in SENSOR_NAMES),
    )
    yield from (bar for bar in others if bar[1].any())


def track(flown: Flown, title: str) -> Figure:
    """Ground track coloured by mode, with the targets and from where they can be seen."""
    figure = Figure(figsize=(look.WIDTH, 5.4), dpi=look.DPI)
    axes = figure.add_axes((0.075, 0.14, 0.76, 0.78))
    latitude, longitude = ground_track(flown["truth_r_I"], flown["truth_q_IE"])
    for mask, options in _track_parts(flown):
        lat, lon = broken(np.where(mask, latitude, np.nan), longitude)
        axes.plot(lon, lat, solid_capstyle="butt", **options)
    axes.plot(longitude[0], latitude[0], "o", color="black", ms=5, mfc="white", label="start")
    axes.plot(longitude[-1], latitude[-1], "s", color="black", ms=5, mfc="white", label="end")
    _draw_targets(axes, flown)
    axes.set(xlim=(-180, 180), ylim=(-90, 90), xlabel="longitude, deg east", ylabel="latitude, deg north")
    axes.set_xticks(range(-180, 181, 30))
    axes.set_yticks(range(-90, 91, 30))
    axes.set_title(title, loc="left", weight="bold", fontsize=11.5)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    return figure


def _track_parts(flown: Flown) -> Iterator[tuple[Mask, dict[str, Any]]]:
    if flown.eclipse.any():
        yield flown.eclipse, {"color": look.SHADE, "lw": 7.0, "label": "eclipse", "zorder": 1}
    for mode, colour in look.MODE_COLOURS.items():
        if flown.in_mode(mode).any():
            yield flown.in_mode(mode), {"color": colour, "lw": 1.8, "label": mode.name.lower(), "zorder": 2}


def _draw_targets(axes: Any, flown: Flown) -> None:
    radius = float(np.mean(np.linalg.norm(flown["truth_r_I"], axis=1)))
    for reference in references(flown.log):
        if not reference.is_target:
            continue
        place, seen = reference.place_deg, "can be seen\nfrom here"
        lat, lon = broken(*visibility_circle(*place, reference.parameters.least_sine, radius))
        axes.plot(lon, lat, color="#444444", lw=0.9, ls=":", label=seen)
        axes.plot(place[1], place[0], "*", color="black", ms=11, zorder=3, label=reference.name.replace(" ", "\n", 1))


# ------------------------------------------------------------------ what they share
def _tracked(flown: Flown) -> Mask:
    """A ground target is pointed at."""
    numbers = [reference.number for reference in references(flown.log) if reference.is_target]
    return np.isin(flown.pointing, numbers)


def _robust(axes: Any, values: Array) -> None:
    """Axis for nearly all of the values: a start with an error of half a turn must not flatten the rest."""
    finite = np.abs(values[np.isfinite(values)])
    reach = 1.4 * float(np.quantile(finite, 0.98)) if finite.size else 0.0
    if reach > 0.0:
        axes.set_ylim(-reach, reach)


def _raise_floor(axes: Any, values: Array) -> None:
    """Begin a logarithmic axis where most of the values are: one that passes through zero goes down for ever."""
    usual = values[np.isfinite(values)]
    if usual.size:
        axes.set_ylim(bottom=max(0.3 * float(np.quantile(usual, 0.005)), axes.get_ylim()[0]))


def _always(flown: Flown) -> bool:
    return True


def _has(name: str) -> Callable[[Flown], bool]:
    return lambda flown: name in flown


FIGURES: tuple[tuple[str, str, str, Callable[[Flown, str], Figure], Callable[[Flown], bool]], ...] = (
    ("timeline", "Modes, faults and eclipses", "What the spacecraft did, and when a sensor was held faulty.",
     timeline, _always),
    ("rates", "Rates", "The body's true rate and the estimate; the goal of detumbling is dashed.", rates, _always),
    ("pointing_error", "Pointing error",
     "Angle between the true attitude and the one it should have, from the true orbit and Sun. It is large while "
     "a slew is under way.", pointing_error, lambda flown: bool((flown.pointing >= 0).any())),
    ("attitude_error", "Attitude error of the estimate",
     "Rotation from the estimated to the true attitude about each body axis, and the filter's own 3σ.",
     attitude_error, lambda flown: bool(flown.running.any())),
    ("wheels", "Reaction wheels", "Momentum and speed with their limits, and the torque on each rotor.",
     wheels, _has("truth_wheel_speed")),
    ("dipoles", "Magnetorquers", "Commanded dipoles with their limits, the mean dipole over a tick, and its torque.",
     dipoles, _has("command_dipole")),
    ("field_and_eclipse", "Magnetic field and sunlight", "At the spacecraft, from the plant's environment.",
     field_and_eclipse, _always),
    ("ground_track", "Ground track", "Coloured by mode, with a broad grey line in eclipse.", track, _always),
    ("disturbances", "Disturbance torques", "Size of each outer torque that nobody commanded.",
     disturbances, _always),
    ("damper", "Kane damper", "The sphere slips until the spin is steady.", damper, _has("truth_damper_omega_B")),
    ("audit", "Audit of the plant",
     "Total momentum and what outer torques have given; energy and the work of all torques. The residuals are what the "
     "integration adds by itself; a damper takes energy away.", audit, _always),
)  # fmt: skip
"""Name, title, caption, how it is drawn, and whether a log has it."""

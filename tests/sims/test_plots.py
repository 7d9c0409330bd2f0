"""Figures: what they draw is what the log holds, nothing is cut off or covered, and files come whole."""

import io
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.image import imread

from attitude.spacecraft.frames import RECORDS
from sims import canvas, plots
from sims import log as logs
from sims.flown import Flown
from sims.ground_track import EARTH_RADIUS, broken, ground_track, visibility_circle

ALL = [
    "timeline", "rates", "pointing_error", "attitude_error", "wheels", "dipoles", "field_and_eclipse", "ground_track",
    "disturbances", "audit",
]  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n"


def figure_of(name, log):
    """One figure, not yet a file."""
    (make, title) = next((make, title) for key, title, _, make, _ in plots.FIGURES if key == name)
    with rc_context(canvas.STYLE):
        return make(Flown(log), title)


def panels(figure):
    return [axes for axes in figure.axes if axes.get_ylabel() or axes.get_xlabel()]


def named(axes, label):
    (line,) = (line for line in axes.lines if line.get_label() == label)
    return line


@pytest.fixture
def short(mission):
    """A mission with so few rows that every one is drawn."""
    return mission(rows_s=10.0)


@pytest.fixture
def short_log(short):
    return logs.dataset(short.rows, short.about)


# ------------------------------------------------------------------ all of them
def test_all_figures_are_drawn(log, tmp_path):
    told = []
    pictures = plots.draw(log, lambda what, fraction: told.append(fraction))
    assert [picture.name for picture in pictures] == ALL
    assert told == sorted(told)
    assert told[-1] < 1.0
    names = plots.save(pictures, tmp_path / "new" / "folder")
    assert sorted(entry.name for entry in (tmp_path / "new" / "folder").iterdir()) == sorted(map(str, names))
    for picture in pictures:
        data = (tmp_path / "new" / "folder" / picture.file).read_bytes()
        assert data == picture.png
        assert data.startswith(PNG)
        image = imread(io.BytesIO(data))
        assert image.shape[1] == 1000
        assert np.ptp(image[..., :3], axis=(0, 1)).min() > 0.5  # not blank
        assert picture.caption.endswith(".")


def test_what_a_spacecraft_has_not_is_not_drawn(story):
    nothing = {"wheel_max_speed": (), "wheel_max_momentum": (), "torquer_max_dipole": (), "references": {}}
    story.put("control", pointing=-1)
    story.put("estimate", running=0)
    pictures = plots.draw(logs.dataset(story.rows, replace(story.about, **nothing, damper=True)))
    missing = {"pointing_error", "attitude_error", "wheels", "dipoles"}
    assert {picture.name for picture in pictures} == (set(ALL) - missing) | {"damper"}


@pytest.mark.parametrize("rows", [1, 2, 200])
def test_short_logs_are_drawn(story, rows):
    story.rows = {name: array[-rows:] for name, array in story.rows.items()}
    log = logs.dataset(story.rows, story.about)
    assert len(plots.draw(log)) == len(ALL)
    assert panels(figure_of("rates", log))[-1].get_xlabel() == "time since the epoch, s"


def test_a_log_without_flight_housekeeping_is_drawn(story):
    for name in ("estimate", "control"):
        story.rows[name][:] = np.nan
    names = {picture.name for picture in plots.draw(logs.dataset(story.rows, story.about))}
    assert names == set(ALL) - {"pointing_error", "attitude_error"}


# ------------------------------------------------------------------ nothing cut off, nothing covered
def boxes(texts):
    return [text.get_window_extent() for text in texts if text.get_visible() and text.get_text()]


def tick_labels(axes):
    """Boxes of the numbers along each axis, those of ticks beyond its ends left out."""
    along, up = (boxes(labels) for labels in (axes.get_xticklabels(), axes.get_yticklabels()))
    middle = axes.bbox.padded(1.0)
    return (
        [box for box in along if middle.x0 <= 0.5 * (box.x0 + box.x1) <= middle.x1],
        [box for box in up if middle.y0 <= 0.5 * (box.y0 + box.y1) <= middle.y1],
    )


def overlap(found):
    return any(one.overlaps(other) for k, one in enumerate(found) for other in found[:k])


@pytest.mark.parametrize("name", [*ALL, "damper"])
def test_labels_and_legends_have_their_own_place(story, name):
    """Every text lies inside the figure, the label of an axis beside its numbers, legends beside the data."""
    story.put("estimate", faulty=(1 << 12) - 1)  # every sensor at once
    figure = figure_of(name, logs.dataset(story.rows, replace(story.about, damper=True)))
    FigureCanvasAgg(figure).draw()
    page, written = figure.bbox, boxes(figure.texts)
    for axes in figure.axes:
        along, up = tick_labels(axes)
        labels = boxes([axes.xaxis.label, axes.yaxis.label, axes._left_title, *axes.texts])
        legend = [] if axes.get_legend() is None else [axes.get_legend().get_window_extent()]
        written += [*along, *up, *labels, *legend]
        assert not overlap(along)
        assert not overlap(up)
        assert not any(label.overlaps(number) for label in labels for number in (*along, *up))
        assert not any(box.overlaps(other.bbox) for box in (*labels, *legend) for other in figure.axes)
    for legend in figure.legends:
        box = legend.get_window_extent()
        assert not any(box.overlaps(other) for other in (*written, *(axes.bbox for axes in figure.axes)))
        written.append(box)
    for box in written:
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert page.y0 <= box.y0
        assert box.y1 <= page.y1
    assert not overlap([axes.bbox for axes in figure.axes])


def test_eclipses_are_shaded_in_every_panel(short, short_log):
    night = np.concatenate([[False], short.sunlight < 0.5, [False]])
    begins, ends = (np.flatnonzero(np.diff(night.astype(int)) == sign) for sign in (1, -1))
    expected = [(short.t[a] / 60.0, short.t[b] / 60.0) for a, b in zip(begins, ends, strict=True)]
    assert len(expected) == 3
    for axes in panels(figure_of("rates", short_log)):
        spans = [patch.get_bbox() for patch in axes.patches]
        np.testing.assert_allclose([(box.x0, box.x1) for box in spans], expected)


# ------------------------------------------------------------------ what is drawn
def test_rates(short, short_log):
    total, parts, difference = panels(figure_of("rates", short_log))
    np.testing.assert_allclose(named(total, "truth").get_ydata(), np.degrees(short.rate), rtol=1e-12)
    np.testing.assert_allclose(named(total, "truth").get_xdata(), short.t / 60.0)
    assert named(parts, "y").get_ydata()[0] == pytest.approx(-0.48 * 10.06)
    assert total.get_yscale() == difference.get_yscale() == "log"


def test_attitude_error_with_its_band(short, short_log):
    axes = panels(figure_of("attitude_error", short_log))
    for k in range(3):
        error = named(axes[k], "error").get_ydata()
        np.testing.assert_allclose(error[short.running], np.degrees(short.theta[short.running, k]), atol=1e-9)
        assert np.isnan(error[~short.running]).all()
        (band,) = axes[k].collections
        assert band.get_datalim(axes[k].transData).y1 == pytest.approx(3.0 * np.degrees(short.sigma[:, k].max()))
        (share,) = (line.get_label() for line in axes[k].lines if "within" in line.get_label())
        settled = short.t >= 3640.0 + 300.0  # the last row without an attitude is at 3640 s
        inside = np.abs(short.theta[settled, k]) <= 3.0 * short.sigma[settled, k]
        assert share == f"{100.0 * inside.mean():.1f} % within"


def test_pointing_error_goal_and_passes(short, short_log):
    (axes,) = panels(figure_of("pointing_error", short_log))
    error, pointed = named(axes, "true error").get_ydata(), short.pointing >= 0
    np.testing.assert_allclose(error[pointed], np.degrees(short.off[pointed]), rtol=1e-9)
    assert np.isnan(error[~pointed]).all()
    assert named(axes, "goal, 1 deg").get_ydata()[0] == 1.0
    assert axes.get_yscale() == "log"
    tracked = [patch.get_bbox() for patch in axes.patches if patch.get_bbox().width < 10.0]
    assert [(box.x0, box.x1) for box in tracked] == [(7000.0 / 60.0, 7500.0 / 60.0)]


def test_wheels_and_dipoles_with_limits(short, short_log):
    momentum, speed, _ = panels(figure_of("wheels", short_log))
    assert named(momentum, "limit").get_ydata()[0] == pytest.approx(1.2)
    assert named(speed, "limit").get_ydata()[0] == pytest.approx(600.0 * 60.0 / (2.0 * np.pi))
    drawn = named(momentum, "wheel 3").get_ydata()
    assert drawn.min() == pytest.approx(-480.0 * 2e-6 * 1e3)
    command, mean, _ = panels(figure_of("dipoles", short_log))
    assert named(command, "limit").get_ydata()[0] == 0.2
    truth = RECORDS["truth"].read(short.rows["truth"], "dipole_B")
    np.testing.assert_array_equal(named(mean, "y").get_ydata(), truth[:, 1])


def test_field(short, short_log):
    total, _, sun = panels(figure_of("field_and_eclipse", short_log))
    ends = total.lines[0].get_ydata()
    assert (ends.min(), ends.max()) == pytest.approx((30.0, 60.0), rel=1e-3)  # a dipole: equator and pole
    np.testing.assert_array_equal(sun.lines[0].get_ydata(), short.sunlight)


def test_audit_and_disturbances(short):
    row = 500
    RECORDS["truth"].read(short.rows["truth"], "momentum_I")[row] += [0.0, 0.0, 1e-6]
    log = logs.dataset(short.rows, short.about)
    _, off, energy, _ = panels(figure_of("audit", log))
    residual = off.lines[0].get_ydata()
    assert residual.argmax() == row
    assert residual[row] == pytest.approx(Flown(log).momentum_residual[row])
    np.testing.assert_allclose(energy.lines[0].get_ydata(), energy.lines[1].get_ydata())
    (axes,) = panels(figure_of("disturbances", log))
    assert [line.get_label() for line in axes.lines] == ["gravity\ngradient"]  # the others are zero


def test_timeline_bars(short, short_log):
    axes = next(axes for axes in figure_of("timeline", short_log).axes if axes.get_xlabel())
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == [
        "detumble", "acquire", "safe", "nominal", "attitude known", "slew", "target tracked", "dumping", "eclipse",
        "gyro\nfaulty",
    ]  # fmt: skip
    spans = {name: [path.get_extents() for path in bar.get_paths()]
             for name, bar in zip(names, axes.collections, strict=True)}  # fmt: skip
    assert [(60.0 * box.x0, 60.0 * box.x1) for box in spans["gyro\nfaulty"]] == [pytest.approx((8990.0, 9500.0))]
    assert [(60.0 * box.x0, 60.0 * box.x1) for box in spans["nominal"]] == [
        pytest.approx((3700.0, 9000.0)), pytest.approx((9700.0, short.t[-1])),
    ]  # fmt: skip


# ------------------------------------------------------------------ ground track
def test_ground_track_of_a_polar_orbit():
    """Below a point 30° up a circle, seen from an Earth that has turned by 20°."""
    radius, up, turned = 7e6, np.radians(30.0), np.radians(20.0)
    r_I = np.array([[radius * np.cos(up), 0.0, radius * np.sin(up)]])
    latitude, longitude = ground_track(r_I, np.array([[0.0, 0.0, np.sin(turned / 2), np.cos(turned / 2)]]))
    assert longitude == pytest.approx([-20.0])
    assert latitude[0] == pytest.approx(30.0 + 0.17, abs=0.02)  # the ellipsoid's normal leans to the pole


def test_circle_of_visibility():
    """From every point of it the elevation over the target is the least one."""
    target, radius, least = (60.0, 170.0), 6878e3, 10.0
    latitude, longitude = visibility_circle(*target, np.sin(np.radians(least)), radius)
    assert (np.abs(longitude) <= 180.0).all()

    def unit(lat, lon):
        lat, lon = np.radians(lat), np.radians(lon)
        return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)

    sight = radius * unit(latitude, longitude) - EARTH_RADIUS * unit(*target)
    sine = sight @ unit(*target) / np.linalg.norm(sight, axis=1)
    np.testing.assert_allclose(np.degrees(np.arcsin(sine)), least, atol=1e-9)


def test_a_line_over_the_edge_or_a_pole_is_broken():
    latitude, longitude = broken(np.arange(5.0), np.array([170.0, 179.0, -179.0, -170.0, 10.0]))
    np.testing.assert_array_equal(latitude, [0.0, 1.0, np.nan, 2.0, 3.0, np.nan, 4.0])
    np.testing.assert_array_equal(np.isnan(longitude), np.isnan(latitude))


def test_the_map_has_track_target_and_modes(short, short_log):
    (axes,) = figure_of("ground_track", short_log).axes
    star = named(axes, "target\n60.0° N 30.0° W")
    assert (star.get_xdata()[0], star.get_ydata()[0]) == pytest.approx((-30.0, 60.0))
    labels = [line.get_label() for line in axes.lines]
    assert labels[:5] == ["eclipse", "detumble", "acquire", "safe", "nominal"]
    nominal = named(axes, "nominal").get_ydata()
    assert np.count_nonzero(np.isfinite(nominal)) == np.count_nonzero(short.mode == 3)
    assert (axes.get_xlim(), axes.get_ylim()) == ((-180.0, 180.0), (-90.0, 90.0))


# ------------------------------------------------------------------ fewer points
def test_thin_keeps_extremes_gaps_and_order():
    rng = np.random.default_rng(3)
    x, y = np.arange(50_000.0), rng.standard_normal(50_000)
    y[[777, 31_111]] = 50.0, -60.0
    y[20_000:20_500] = np.nan
    few_x, few_y = canvas.thin(x, y, 1000)
    assert few_x.size <= 1500
    assert (np.diff(few_x) > 0.0).all()
    assert {777.0, 31_111.0} <= set(few_x)
    assert np.isnan(few_y[(few_x >= 20_000) & (few_x < 20_500)]).all()
    assert np.isnan(few_y).any()
    np.testing.assert_array_equal(few_y, y[few_x.astype(int)])
    same = canvas.thin(x[:900], y[:900], 1000)
    assert same[0].size == 900


def test_a_short_logarithmic_axis_has_numbers():
    figure = canvas.Figure()
    axes = figure.add_subplot()
    axes.plot([0.0, 1.0], [0.9, 1.1])
    canvas.log_scale(axes)
    FigureCanvasAgg(figure).draw()
    low, high = axes.get_ylim()
    shown = [float(text.get_text()) for text in axes.get_yticklabels() if text.get_text()]
    assert any(low <= value <= high for value in shown)

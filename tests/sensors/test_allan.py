"""Simulated gyros against their datasheets, by the Allan deviation (IEEE 952-1997, annex C)."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.optimize import minimize_scalar, nnls

from attitude.sensors.allan import allan_deviation
from attitude.sensors.gyro import ALLAN_PEAK, Gyro, GyroConfig

HOUR = 3600.0
DEG_PER_HR = math.pi / 180.0 / HOUR
SAMPLES = 1_000_000
SEEDS = (1, 2, 3)  # nine axes in all


def markov_shape(x):
    """Allan variance of a Gauss–Markov process of unit variance at `x` correlation times (IEEE 952, C.1.4)."""
    return 2.0 / x * (1.0 - (3.0 - 4.0 * np.exp(-x) + np.exp(-2.0 * x)) / (2.0 * x))


def markov_peak():
    found = minimize_scalar(lambda x: -markov_shape(x), bracket=(1.0, 2.0, 3.0), tol=1e-12)
    return found.x, math.sqrt(-found.fun)


class Datasheet:
    def __init__(self, rate, arw, instability, time, rrw):
        self.rate, self.arw, self.instability, self.time, self.rrw = rate, arw, instability, time, rrw

    def gyro(self):
        return Gyro(GyroConfig(
            sample_rate_hz=self.rate, arw_deg_per_sqrt_hr=self.arw, bias_instability_deg_per_hr=self.instability,
            bias_instability_time_s=self.time, rrw_deg_per_hr_per_sqrt_hr=self.rrw, turn_on_bias_deg_per_hr=10.0,
        ))  # fmt: skip

    def basis(self, tau):
        """Allan variance, (°/h)², of each part for a unit of its datasheet value: columns N, B, K."""
        hours = tau / HOUR
        peak = markov_peak()[1] ** 2
        return np.stack([1.0 / hours, markov_shape(tau / self.time) / peak, hours / 3.0], axis=1)

    def variance(self, tau):
        return self.basis(tau) @ np.square([self.arw, self.instability, self.rrw])


# rate Hz, N °/√h, B °/h with its correlation time s, K °/h/√h
GYROS = {
    "fibre optic": Datasheet(1.0, 0.02, 1.0, 100.0, 1.0),
    "tactical MEMS": Datasheet(0.1, 0.15, 0.5, 3600.0, 0.3),
    "consumer MEMS": Datasheet(10.0, 0.3, 30.0, 20.0, 40.0),
}


def degrees_of_freedom(tau, rate):
    """Independent averages over all axes and seeds: at least one for each non-overlapping pair, less the ends."""
    return len(SEEDS) * 3 * (SAMPLES / (rate * tau) - 1.0)


@pytest.fixture(scope="module")
def curves():
    """Measured Allan variance, (°/h)², pooled over axes and seeds, at about 25 times per gyro."""
    measured = {}
    for name, sheet in GYROS.items():
        factors = np.unique(np.geomspace(1, SAMPLES / 50, 25).astype(int))
        times = np.arange(SAMPLES) / sheet.rate
        variances = []
        for seed in SEEDS:
            stream = sheet.gyro().stream(times, [0.0, 0.0, 0.0], seed=seed)
            variances.append(allan_deviation(stream.values / DEG_PER_HR, 1.0 / sheet.rate, factors) ** 2)
        measured[name] = factors / sheet.rate, np.mean(variances, axis=(0, 2))
    return measured


@pytest.mark.parametrize("name", GYROS)
def test_the_whole_curve_is_the_datasheets(curves, name):
    tau, measured = curves[name]
    sheet = GYROS[name]
    # a variance with n degrees of freedom scatters by √(2/n); at short times neighbouring averages of coloured noise
    # are not independent, so no more than 20 000 are counted
    scatter = np.sqrt(2.0 / np.minimum(degrees_of_freedom(tau, sheet.rate), 20_000.0))
    np.testing.assert_array_less(np.abs(measured / sheet.variance(tau) - 1.0), 4.0 * scatter)


@pytest.mark.parametrize("name", GYROS)
def test_datasheet_values_are_read_back_within_ten_per_cent(curves, name):
    """Least squares of the three known shapes, as Allan tools do; each point weighted by its scatter."""
    tau, measured = curves[name]
    sheet = GYROS[name]
    weight = np.sqrt(np.minimum(degrees_of_freedom(tau, sheet.rate), 20_000.0)) / measured
    squares, _ = nnls(sheet.basis(tau) * weight[:, None], measured * weight)
    np.testing.assert_allclose(np.sqrt(squares), [sheet.arw, sheet.instability, sheet.rrw], rtol=0.1)


def test_values_are_read_off_the_curve_by_eye():
    """Slope −1/2 at 1 s, bottom at 1.89 T, slope +1/2 at 20 000 s: at each place the others add below 2 %."""
    sheet = GYROS["fibre optic"]
    curve = []
    for seed in SEEDS:
        stream = sheet.gyro().stream(np.arange(SAMPLES) / sheet.rate, [0.0, 0.0, 0.0], seed=100 + seed)
        curve.append(allan_deviation(stream.values / DEG_PER_HR, 1.0, [1, 189, 20_000]) ** 2)
    short, bottom, long = np.sqrt(np.mean(curve, axis=(0, 2)))
    # 1σ of the last one: 1/√(2 · 441) = 3.4 %, the others below 0.6 %
    assert short * math.sqrt(1.0 / HOUR) == pytest.approx(sheet.arw, rel=0.1)
    assert bottom == pytest.approx(sheet.instability, rel=0.1)
    assert long * math.sqrt(3.0 / (20_000.0 / HOUR)) == pytest.approx(sheet.rrw, rel=0.1)


# ------------------------------------------------------------------ the tools themselves
def test_markov_shape_is_the_integral_of_its_autocorrelation():
    """σ²(τ) = (E[a²] − E[a b]) for neighbouring averages a, b of a process with autocorrelation exp(−|t|)."""
    for x in (0.3, 1.9, 10.0):
        same, _ = dblquad(lambda u, v: math.exp(-(v - u)), 0.0, x, 0.0, lambda v: v, epsabs=1e-12)
        next_, _ = dblquad(lambda u, v: math.exp(-abs(u - v)), 0.0, x, x, 2.0 * x, epsabs=1e-12)
        assert markov_shape(x) == pytest.approx((2.0 * same - next_) / x**2, rel=1e-9)


def test_the_peak_of_a_markov_process():
    at, peak = markov_peak()
    assert at == pytest.approx(1.8926, abs=5e-5)
    assert peak == pytest.approx(ALLAN_PEAK, abs=5e-7)  # its last digit
    # IEEE 952-1997 prints 0.437 q_c √T_c, with σ² = q_c² T_c/2
    assert peak / math.sqrt(2.0) == pytest.approx(0.437, abs=5e-4)


def test_allan_deviation_of_small_series():
    rate = np.array([1.0, 3.0, 2.0, 6.0])
    # factor 1: differences 2, −1, 4; factor 2: averages 2 and 4
    np.testing.assert_allclose(
        allan_deviation(rate, 0.5, [1, 2]), [math.sqrt(21.0 / 6.0), math.sqrt(2.0)], rtol=1e-14
    )
    both = allan_deviation(np.stack([rate, 2.0 * rate], axis=1), 0.5, [1])
    np.testing.assert_allclose(both[:, 1], 2.0 * both[:, 0], rtol=1e-14)


def test_allan_deviation_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="factors must be at most half the number of samples, 2, got 3"):
        allan_deviation(np.zeros(4), 1.0, [3])
    with pytest.raises(ValueError, match="rate must be finite"):
        allan_deviation([0.0, math.nan], 1.0, [1])
    with pytest.raises(ValueError, match="period must be greater than zero"):
        allan_deviation(np.zeros(4), 0.0, [1])
    with pytest.raises(ValueError, match="factors must be a whole number"):
        allan_deviation(np.zeros(4), 1.0, [0])

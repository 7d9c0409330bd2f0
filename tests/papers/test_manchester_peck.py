"""MP 2016: what decides its statements."""

import pytest

from sims.papers import manchester_peck


@pytest.mark.parametrize(("damping", "evaluations"), [(0.1, 422), (100.0, 114_158)])
def test_evaluations_of_rk45(damping, evaluations):
    """SciPy RK45 at default tolerances: evaluations as counted with a plain numpy right-hand side."""
    assert manchester_peck._damped("RK45", damping).evaluations == pytest.approx(evaluations, rel=0.02)

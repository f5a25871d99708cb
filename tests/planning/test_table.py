"""What the most frequent keys of a table serve (NAE-U1)."""

import numpy as np
import pytest

from streamjoin.planning.table import harmonic, ideal_hit_share

MILLIONS = 100_000_000


def test_ideal_hit_shares_are_the_derived_ones() -> None:
    """NAE-U1, NAE-I8."""
    assert ideal_hit_share(1_500_000, MILLIONS, 1.0) == pytest.approx(0.779, abs=5e-4)
    assert ideal_hit_share(150_000, MILLIONS, 1.0) == pytest.approx(0.658, abs=5e-4)
    assert ideal_hit_share(9_060, MILLIONS, 1.0) == pytest.approx(0.51, abs=1e-4)
    assert [round(ideal_hit_share(n * 15 // 1000, n, 1.0), 2) for n in (10**5, 10**6)] == [
        0.65,
        0.71,
    ]
    assert ideal_hit_share(0, 10, 1.0) == 0
    assert ideal_hit_share(20, 10, 0.5) == 1


@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0])
def test_long_sums_are_right(skew: float) -> None:
    n = 3_000_000
    exact = float(np.sum(np.arange(1, n + 1) ** -skew))
    assert harmonic(n, skew) == pytest.approx(exact, rel=1e-12)

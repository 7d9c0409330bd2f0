"""Reference numbers: states after N steps, computed once with 45 digits, which stand in for the tables of a paper."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attitude.truth import so_n
from attitude.truth.so_n import System
from sims.papers.bcmr.cases import H, case
from sims.papers.table import Row, reference

STEPS = {3: 100, 4: 100, 5: 20}
REFERENCE = {  # 45-digit computation rounded to 11 decimals: upper entries of M_N | first row of Q_N | E | tr(ΛU)
    3: "0.44567752200 -0.49780858820 0.23142635092 | -0.70997258086 0.59393589107 0.37839013166 | 0.08568412162 |"
       " 4.69914303254",
    4: "0.44569540264 -0.48261091407 -0.26634538041 0.19176255637 0.23201612490 -0.56293702293 | -0.25531096580 "
       "0.37641620601 0.71691664580 0.52835373906 | 0.12641061735 | 7.69873568564",
    5: "0.48196942933 -0.34716261218 0.17332016802 0.76464363567 0.36451846153 0.15189767140 -0.24108071484 "
       "-0.59877776138 0.20801496808 0.45176571669 | 0.47051364894 0.67912919217 -0.27469703338 0.25778069759 "
       "0.41891657679 | 0.21072567354 | 11.39789239402",
}  # fmt: skip


def rows() -> Iterator[Row]:
    """Digits of the state after N steps."""
    for n, text in REFERENCE.items():
        c, what = case(n), f"SO({n}), {STEPS[n]} steps"
        end = so_n.run(System.MDRB, c.body, c.Q, c.M, H, STEPS[n], STEPS[n])
        m_text, q_text, e_text, a_text = text.split("|")
        pairs = [f"{i + 1}{j + 1}" for i, j in zip(*np.triu_indices(n, 1), strict=True)]
        for pair, printed, ours in zip(pairs, m_text.split(), so_n.upper(end.B[-1]), strict=True):
            yield reference(f"{what}: M{pair}", printed, ours)
        for j, (printed, ours) in enumerate(zip(q_text.split(), end.A[-1][0], strict=True)):
            yield reference(f"{what}: Q1{j + 1}", printed, ours)
        yield reference(f"{what}: energy", e_text.strip(), c.body.energy(end.B[-1]))
        yield reference(f"{what}: tr(ΛU)", a_text.strip(), so_n.discrete_action(c.body, H * end.B[-1]))

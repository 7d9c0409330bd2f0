"""Lee, Leok and McClamroch 2007: printed numbers."""

from sims.papers import lee_leok_mcclamroch

NUMBERS = ("2.6966e-07", "2.8657e-13", "1.1246e-2", "2.2435e-2", "0.0004", "0.0238", "0.0030", "0.1905", "9")


def test_every_printed_number_has_a_row(reproduced):
    assert set(NUMBERS) <= {row.printed for row in reproduced(lee_leok_mcclamroch.NAME).paper.rows}

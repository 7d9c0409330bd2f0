"""Monte Carlo studies of the filters: one module each, with its table, its verdicts and its figures."""

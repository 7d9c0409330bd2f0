"""One file per source paper: its printed numbers and figures, reproduced."""

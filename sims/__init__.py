"""Scenarios, studies, papers, benchmarks and the command line."""

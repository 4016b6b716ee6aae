"""Benchmark of learners and policies on fixed episodes: protocol, results, statistics, tables."""

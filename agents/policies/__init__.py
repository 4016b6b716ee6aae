"""Measuring: policies by name, rollouts, the benchmark."""

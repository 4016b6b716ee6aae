"""Figures of Ekeberg (1993), listed in `papers.toml`."""

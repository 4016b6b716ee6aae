"""Figures of Quist et al. (2014), listed in `papers.toml`."""

"""Figures of Bunderson et al. (2012), listed in `papers.toml`."""

"""Figures of Oladazimi, Putelat et al. (2021), listed in `papers.toml`."""

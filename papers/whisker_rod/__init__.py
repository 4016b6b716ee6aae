"""The figures of Oladazimi, Putelat et al. (2021), of which `papers.toml` tells."""

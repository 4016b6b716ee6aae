"""The figures of Quist et al. (2014), of which `papers.toml` tells."""

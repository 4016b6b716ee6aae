"""The figures of Bunderson et al. (2012), of which `papers.toml` tells."""

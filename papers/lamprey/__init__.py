"""The figures of Ekeberg (1993), of which `papers.toml` tells."""

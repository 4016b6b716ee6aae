"""The figures of Chung, Chang & Kim (2024), of which `papers.toml` tells.

Where the paper prints digits they are those of its own scheme (``published``), and so are ours beside them; what the
converged model gives stands in the note.
"""

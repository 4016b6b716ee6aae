"""Figures of Chung, Chang & Kim (2024), listed in `papers.toml`.

Printed numbers are compared with values of the paper's own scheme (``published``). Notes give those of the converged
model.
"""

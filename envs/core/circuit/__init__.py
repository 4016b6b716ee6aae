"""Nervous systems as data, and the kernels that run them."""

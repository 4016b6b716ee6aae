"""Nervous systems as data, and the kernels that simulate them."""

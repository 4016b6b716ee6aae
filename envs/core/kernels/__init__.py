"""Compilation of kernels, their cache, and records of sixteen animals side by side."""

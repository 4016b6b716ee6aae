"""Compilation of kernels, their cache, and records of sixteen animals side by side.

Each file gives one or more of three things, and its first lines name the tests that fail if numba changes:

| file | speed of steps | equal bits | compile time |
|---|---|---|---|
| `lanes` | x | | |
| `maths` | x | x | |
| `jit` | x | x | |
| `target` | x | | x |
| `lowering` | | | x |
| `cache` | | x | x |
"""

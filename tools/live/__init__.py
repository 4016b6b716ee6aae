"""Interactive animals for browsers: kernels as WebAssembly, tables of their memory, and pages; see ``docs/live``."""

"""The animals in a browser: kernels as WebAssembly, tables of their memory, and the page; see ``docs/live``."""

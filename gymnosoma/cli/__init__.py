"""The commands: a module for each, which is called from `main`."""

"""Shared code of all animals: compilation, lanes, environments, tables, geometry, drawing."""

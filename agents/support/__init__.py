"""Utilities: safe file writing, schema checks, progress bars, interruption, and worker processes."""

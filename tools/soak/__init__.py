"""Environments asked for the worst they may be asked for, and what comes of it."""

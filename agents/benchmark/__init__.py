"""Measuring learners and policies in frozen episodes: protocol, results, statistics, tables."""

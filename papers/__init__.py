"""Figures of the five papers, drawn from our simulations, and tables of the papers' printed numbers."""

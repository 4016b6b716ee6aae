"""The five papers: printed numbers as data, figures drawn from simulations, and the analysis that only they need."""

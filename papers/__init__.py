"""The figures of the five papers, drawn from our own simulations, and tables of what these papers print."""

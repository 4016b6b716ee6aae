"""The papers' figures, drawn from our own simulations: a module for each animal."""

"""Models without learning: animals, controllers, events, simulations and trajectories."""

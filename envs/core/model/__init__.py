"""A model without learning: animals, controllers, events, runs and what they recorded."""

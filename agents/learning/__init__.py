"""Learning: training runs, recipes, and environments for stable-baselines3."""

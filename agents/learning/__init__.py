"""Learning: training runs, recipes, tuning, and environments for stable-baselines3."""

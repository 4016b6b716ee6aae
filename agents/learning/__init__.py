"""Learning: training into run folders, the recipes of the ids, environments for stable-baselines3."""

"""Showing: films of episodes, and an animal to steer."""

"""Speed of every animal and of the environments, and against peers: a module for each animal, its peers in it."""

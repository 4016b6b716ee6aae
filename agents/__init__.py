"""Reference controllers of the animals, rollouts, training and the command line."""

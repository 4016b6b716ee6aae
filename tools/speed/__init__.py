"""Speed of the models on one core, compared with other programs."""

"""The papers' figures, drawn from our own simulations: a folder for each animal, and a table of what its paper prints."""

"""Pictures: a canvas, views of animals, and pixel observations."""

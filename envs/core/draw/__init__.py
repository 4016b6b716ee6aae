"""Pictures: a canvas, views of animals, and small pictures that are observed."""

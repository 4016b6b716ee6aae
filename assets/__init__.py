"""Tables of the papers as printed, recorded kymograms, trained policies."""

"""What all animals share: compilation, lanes, environments, tables, geometry, drawing."""

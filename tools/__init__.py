"""What maintainers run: speed against peers, soaks, publishing of results, making of tables. Not in the wheel."""

"""What maintainers run: speed against peers, publishing of results, making of tables. Not in the wheel."""

"""Commands for maintainers: speed comparisons, publishing of results, checks of tasks. Not in the wheel."""

"""Tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LEFT = ("id", "entrant", "policy", "measure", "known values")
"""Columns of text; others are numbers and aligned at the right."""


def show_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], title: str, caption: str = "", width: int | None = None
) -> None:
    """Print texts as a table. They may come from files, so nothing in them is taken as markup."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, caption=caption)
    for column in columns:
        table.add_column(column, justify="left" if column in LEFT else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(width=width, markup=False, emoji=False).print(table)

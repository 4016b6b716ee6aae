"""Pieces of work for other processes, which find this module by its name, as they do not find a test's."""

import os


def marked(folder, name):
    """A piece of work that leaves a file; one always ends its process, one does so once, one fails."""
    with (folder / name).open("a") as file:
        file.write("begun\n")
    if name == "dies" or (name == "dies once" and (folder / name).read_text() == "begun\n"):
        os._exit(1)
    if name == "fails":
        raise ValueError("two\nlines")
    return name.upper()

"""Pieces of work for other processes, which find this module by its name, as they do not find a test's."""

import os
import time


def slowly(folder, name):
    """A piece of work that leaves a file; one ends its process, one fails."""
    (folder / name).write_text(str(os.getpid()))
    if name == "dies":
        time.sleep(1.0)  # the others that began with it are done
        os._exit(1)
    if name == "fails":
        raise ValueError("two\nlines")

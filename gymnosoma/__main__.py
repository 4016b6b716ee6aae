"""Command line of gymnosoma: ``python -m gymnosoma --help``."""

from .agents.commands.main import main

if __name__ == "__main__":
    main()

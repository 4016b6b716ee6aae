"""Command line of gymnosoma: ``python -m gymnosoma --help``."""

from gymnosoma.cli.main import main

if __name__ == "__main__":
    main()

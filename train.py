"""Command line of gymnosoma: ``python train.py --help``."""

from gymnosoma.cli.main import main

if __name__ == "__main__":
    main()

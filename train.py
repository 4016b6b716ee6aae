"""Command line of gymnosoma: ``python train.py --help``."""

from gymnosoma.agents.commands.main import main

if __name__ == "__main__":
    main()

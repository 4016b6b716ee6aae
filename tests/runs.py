"""What tests of run folders share."""

import errno
import io
from itertools import pairwise

from gymnosoma.agents.learning import training
from gymnosoma.agents.learning.training import TrainConfig

SWIM = "gymnosoma/WormSwim-v0"


def curve(folder):
    """Rows of the learning curve without the seconds, after a look at their form."""
    header, *lines = (folder / "curve.csv").read_text().splitlines()
    assert header == "steps,seconds,episodes,return,score"
    rows = [tuple(map(float, line.split(","))) for line in lines]
    assert all(len(row) == 5 for row in rows)
    assert all(a[0] < b[0] and a[1] <= b[1] and a[2] <= b[2] for a, b in pairwise(rows))
    return [(row[0], *row[2:]) for row in rows]


def train(env_id, folder, algorithm=None, *, resume=False, stop=lambda: False, **settings):
    """Train in a folder, with the settings as arguments."""
    return training.train(env_id, folder, TrainConfig(algorithm, **settings), resume=resume, stop=stop)


class FullDisk(io.FileIO):
    """A file that takes a hundred bytes."""

    def write(self, data):
        room = max(100 - self.tell(), 0)
        if len(data) <= room:
            return super().write(data)
        super().write(bytes(data)[:room])
        raise OSError(errno.ENOSPC, "No space left on device")

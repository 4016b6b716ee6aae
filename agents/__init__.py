"""Agents: the animals' own controllers, trained policies, learning algorithms, and the benchmark.

The way of the data, one line per stage::

    | stage | ``train`` | ``evaluate`` | ``benchmark run`` |
    |---|---|---|---|
    | command | `cli.train` reads `TrainConfig` | `cli.evaluate` reads names | `cli.benchmark` reads names into `Job`s |
    | who names a policy | the run folder | `policies.lookup.find_policy` | `find_policy`, `entrants.find_learner` |
    | who checks | `training.run_config` | `evaluation.check_play` | `Job.digest`, `Job.lines` |
    | who makes envs | ``learn`` of the algorithm | `evaluation.play` | `protocol.environments`, `evaluation.play` |
    | what comes out | policy and card, learning curve | `Summary` | `Result` |
    | who saves it | `runs.Run`, `card.write_policy` | `files.write_table` | `entrants.save_job`, `results.gather` |

`support.schema` reads all files (cards, configurations, checkpoints, recipes, results, references) into dataclasses.
"""

from gymnosoma.moved import point_from

from .policies.agent import Agent, ConstantAgent, ControllerAgent, RandomAgent
from .policies.card import load_policy
from .policies.evaluation import Episodes, rollout

__all__ = ["Agent", "ConstantAgent", "ControllerAgent", "Episodes", "RandomAgent", "load_policy", "rollout"]

point_from(__name__)

"""An agent with a memory, in evaluation, dataset and film: ``python examples/recurrent_agent.py [EPISODES]``.

The class takes the spaces of one row and defines ``act(observations, first)``. It resets its memory for rows where
``first`` is true. Here a lamprey with an unobserved weak side integrates the bearing of its goal and
steers against it.
"""

import sys

import numpy as np

ID = "gymnosoma/LampreyEscape-v0"


class Remembering:
    """Proportional and integral steering of the cord by its brainstem."""

    env = {"actions": "brainstem"}  # noqa: RUF012

    def __init__(self, observation_space, action_space):
        self.size, self.sum = action_space.shape[0], np.zeros(0)

    def act(self, observations, first):
        """Return actions (B, 3): tonic level, asymmetry, extra drive of the head."""
        if len(self.sum) != len(first):
            self.sum = np.zeros(len(first))
        self.sum[first] = 0.0
        bearing = np.arctan2(observations[:, 43], observations[:, 42])  # positive to the left
        self.sum = np.clip(self.sum + 0.01 * bearing, -1.0, 1.0)
        turn = np.clip(-2.0 * bearing - self.sum, -1.0, 1.0)
        return np.stack([np.full(len(first), 0.2), turn, np.zeros(len(first))], 1)


if __name__ == "__main__":
    from gymnosoma.agents.policies.evaluation import evaluate
    from gymnosoma.agents.policies.lookup import find_policy
    from gymnosoma.films.reel import show_episode

    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    policy = find_policy(ID, "recurrent_agent:Remembering")
    print(f"return {evaluate(ID, policy, episodes).returns.mean():.1f}")
    from pathlib import Path

    show_episode(ID, policy.name, Path("remembering.png"), seconds=2.0)

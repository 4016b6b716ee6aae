"""An agent with a memory, in evaluation, dataset and film: ``python examples/recurrent_agent.py [EPISODES]``.

The class takes the spaces of one row and defines ``act(observations, first)``. It resets its memory for rows where
``first`` is true. Here a lamprey in an unobserved current integrates its speed error, and increases its tonic drive.
"""

import sys

import numpy as np

ID = "gymnosoma/LampreySpeed-v0"


class Remembering:
    """Integral controller of the tonic level of the cord."""

    env = {"actions": "brainstem", "history": 1}  # noqa: RUF012

    def __init__(self, observation_space, action_space):
        self.size, self.sum = action_space.shape[0], np.zeros(0)

    def act(self, observations, first):
        """Return actions (B, 3): tonic level, asymmetry, extra drive of the head."""
        if len(self.sum) != len(first):
            self.sum = np.zeros(len(first))
        self.sum[first] = 0.0
        behind = observations[:, 44] - observations[:, 45]  # target speed minus speed
        self.sum = np.clip(self.sum + 0.02 * behind, -1.0, 1.0)
        return np.stack([np.tanh(behind + self.sum), np.zeros(len(first)), np.full(len(first), 0.3)], 1)


if __name__ == "__main__":
    from gymnosoma.agents.policies.evaluation import evaluate
    from gymnosoma.agents.policies.lookup import find_policy
    from gymnosoma.films.reel import show_episode

    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    policy = find_policy(ID, "recurrent_agent:Remembering")
    print(f"return {evaluate(ID, policy, episodes).returns.mean():.1f}")
    from pathlib import Path

    show_episode(ID, policy.name, Path("remembering.png"), seconds=2.0)
    print("python train.py record LampreySpeed-v0 --policy recurrent_agent:Remembering")

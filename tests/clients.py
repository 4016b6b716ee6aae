"""Checkers and clients of other libraries, over all environments: ``python tests/clients.py [--write] [LIBRARY ...]``.

It prints a table of what ran; ``--write`` puts it into the guide "With other libraries", and the fingerprints of the
ids into ``docs/clients.json``, which ``tools.publish --check`` compares. Libraries that are not installed keep their
rows there. RLlib pins another Gymnasium: run ``python tests/clients.py --write ray`` in an
environment with ``.[rllib]``.
"""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_match import check_environments_match
from ids import ADDED, ALL, FIRST, module

from gymnosoma.agents.policies.fingerprints import env_fingerprint
from gymnosoma.agents.policies.registry import task_class
from gymnosoma.envs import wrappers

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "libraries.md"
MEASURED = Path(__file__).parents[1] / "docs" / "clients.json"
PLACE = re.compile(r"(?<=<!-- clients -->\n).*?(?=<!-- /clients -->)", re.DOTALL)
OURS = [env_id for env_id in ALL if env_id not in ADDED]
ANIMALS = [env_id for env_id in FIRST if env_id not in ADDED]


BODIES = ("worm", "lamprey")
"""Animals with fields along the body, which `ModeObservation` needs."""


def forms():
    """Every id with each action mode, and with each form of the observation."""
    for env_id in OURS:
        kind = task_class(env_id)
        yield from ((env_id, {"actions": mode}) for mode in kind.action_modes)
        yield env_id, {"wrappers": {"PixelObservation": {}}}
        if module(env_id).split(".")[2] in BODIES:
            yield env_id, {"wrappers": {"ModeObservation": {}}}
        if hasattr(kind, "goal_wanted"):
            yield env_id, {"wrappers": {"GoalObservation": {}}}


def bare(env_id, arguments):
    """Return an environment with our wrappers alone."""
    env = gymnasium.make(env_id, **{name: value for name, value in arguments.items() if name != "wrappers"})
    return wrappers.wrap(env.unwrapped, arguments.get("wrappers"))


def gymnasium_checker(env_id, arguments):
    check_env(bare(env_id, arguments), skip_render_check=True)


def gymnasium_renderer(env_id, arguments):
    check_env(gymnasium.make(env_id, render_mode="rgb_array", width=80, height=64).unwrapped)


def gymnasium_match(env_id, arguments):
    env = wrappers.make(env_id, **arguments)
    check_environments_match(env, gymnasium.make(EnvSpec.from_json(env.spec.to_json())), 20)


def sb3_checker(env_id, arguments):
    from stable_baselines3.common.env_checker import check_env as check

    check(bare(env_id, arguments))


def torchrl_checker(env_id, arguments):
    from torchrl.envs import GymEnv
    from torchrl.envs.utils import check_env_specs

    check_env_specs(GymEnv(env_id, **arguments))


def torchrl_vector_checker(env_id, arguments):
    from torchrl.envs import GymWrapper
    from torchrl.envs.utils import check_env_specs

    for mode in ("SameStep", "Disabled"):
        check_env_specs(GymWrapper(gymnasium.make_vec(env_id, num_envs=4, autoreset_mode=mode, **arguments)))


def minari_collector(env_id, arguments):
    import minari

    name = f"{env_id}/client-v0"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MINARI_DATASETS_PATH"] = folder
        env = minari.DataCollector(gymnasium.make(env_id, max_episode_steps=20, **arguments), record_infos=True)
        for seed in range(3):
            env.reset(seed=seed)
            while not any(env.step(env.action_space.sample())[2:4]):
                pass
        data = env.create_dataset(name)
        again = data.recover_environment()
        first = next(iter(data.iterate_episodes()))
        assert (again.reset(seed=0)[0] == first.observations[0]).all() and "failure" in first.infos


def rllib_trainer(env_id, arguments):
    from ray.rllib.algorithms.ppo import PPOConfig

    config = PPOConfig().environment(f"gymnosoma:{env_id}").env_runners(num_env_runners=0)
    algorithm = config.training(train_batch_size_per_learner=64, minibatch_size=32, num_epochs=1).build_algo()
    algorithm.train()
    algorithm.stop()


CLIENTS = [
    ("gymnasium", "`check_env`", gymnasium_checker, [*forms()]),
    ("gymnasium", "`check_env` with rendering", gymnasium_renderer, [(env_id, {}) for env_id in OURS]),
    ("gymnasium", "`check_environments_match` with its spec as JSON", gymnasium_match, [*forms()]),
    ("stable-baselines3", "`check_env`", sb3_checker, [*forms()]),
    ("torchrl", "`check_env_specs`", torchrl_checker, [(env_id, {}) for env_id in ANIMALS]),
    ("torchrl", "`check_env_specs` of `GymWrapper`", torchrl_vector_checker, [(env_id, {}) for env_id in ANIMALS]),
    ("minari", "`DataCollector` with infos, `recover_environment`", minari_collector, [(i, {}) for i in ANIMALS]),
    ("ray", "a step of RLlib's PPO", rllib_trainer, [(env_id, {}) for env_id in ANIMALS]),
]


def main():
    rows, measured = {}, json.loads(MEASURED.read_text("utf-8")) if MEASURED.is_file() else {}
    for library, what, check, cases in CLIENTS:
        wrong = []
        if sys.argv[1:] not in ([], ["--write"]) and library not in sys.argv:
            continue
        try:
            number = version(library)
        except PackageNotFoundError:
            continue
        for env_id, arguments in cases:
            with warnings.catch_warnings(action="ignore"), contextlib.redirect_stdout(io.StringIO()):
                try:
                    check(env_id, arguments)
                except Exception as error:
                    wrong.append(f"{env_id} {arguments}: {str(error).splitlines()[0]}")
        result = f"{len(cases) - len(wrong)} of {len(cases)}"
        rows[library, what] = f"| {library} | {number} | {what} | {len({i for i, _ in cases})} | {result} |"
        ids = {env_id: env_fingerprint(env_id, {}) for env_id in dict.fromkeys(env_id for env_id, _ in cases)}
        measured[f"{library}: {what}"] = {"passed": result, "ids": ids}
        print(rows[library, what], *wrong, sep="\n", flush=True)
    if "--write" in sys.argv:
        text = GUIDE.read_text("utf-8")
        for line in PLACE.search(text)[0].splitlines()[2:]:
            library, _, what = (part.strip() for part in line.split("|")[1:4])
            rows.setdefault((library, what), line)
        head = "| library | version | what ran | ids | passed |\n| --- | --- | --- | ---: | ---: |"
        MEASURED.write_text(json.dumps(dict(sorted(measured.items())), indent=1) + "\n", "utf-8")
        GUIDE.write_text(PLACE.sub("\n".join([head, *(rows[key] for key in sorted(rows))]) + "\n", text), "utf-8")


if __name__ == "__main__":
    main()

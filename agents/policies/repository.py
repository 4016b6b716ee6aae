"""Folders of policies as model repositories of Hugging Face: a README with metadata, a picture and a licence.

The README is a template and a dictionary, without ``huggingface_hub``, because every training writes it, and the
library is only needed to upload the folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gymnosoma.envs.core.env.documentation import summary

from ..support.files import replacing
from .card import CARD, WEIGHTS, read_card
from .models import ENVIRONMENT
from .registry import task_class

README, PICTURE = "README.md", "episode.png"
"""Names of the model card, and of a picture that it shows if the folder has it."""

FILES = (CARD, WEIGHTS, ENVIRONMENT, README, PICTURE)
"""Files of a policy to publish. Checkpoints are not among them, because loading them executes code."""

TEXT = """# {name}

A policy for the environment `{env_id}` of [gymnosoma](https://github.com/gymnosoma/gymnosoma), trained with
{algorithm}. The task: {task}.

`card.json` lists the network, spaces and arguments of the environment, and
`policy.safetensors` has the weights. NumPy plays them; the files contain no executable code.
{picture}
## Score

{scores}

## Use

```sh
pip install gymnosoma
hf download USER/{name} --local-dir {name}
gymnosoma evaluate {target} --policy {name} baseline
gymnosoma render {target} --policy {name} --save film.mp4
```

## Licence

MIT
"""


def write_repository(folder: Path) -> None:
    """Write the model card of a policy, so that its folder is a valid model repository.

    The metadata are those of https://huggingface.co/docs/hub/model-cards, in YAML's form of JSON.
    """
    card = read_card(folder)
    env_id, scores = card.id, card.scores
    short = env_id.removeprefix("gymnosoma/")
    name, results = f"{short}-{card.algorithm}", "Not measured yet."
    metadata: dict[str, Any] = {
        "library_name": "gymnosoma",
        "pipeline_tag": "reinforcement-learning",
        "license": "mit",
        "tags": ["reinforcement-learning", "gymnasium", "gymnosoma", short],
    }
    if scores is not None:
        unit = "" if scores.unit == "1" else f" {scores.unit}"
        results = (
            f"Mean and standard deviation of {scores.episodes} episodes: {scores.score} "
            f"{scores.score_mean:.4g} ± {scores.score_sd:.2g}{unit}, "
            f"return {scores.return_mean:.4g} ± {scores.return_sd:.2g}."
        )
        reward = f"{scores.return_mean:.2f} +/- {scores.return_sd:.2f}"
        result = {
            "task": {"type": "reinforcement-learning", "name": "reinforcement-learning"},
            "dataset": {"type": env_id, "name": env_id},
            "metrics": [{"type": "mean_reward", "name": "mean_reward", "value": reward, "verified": False}],
        }
        metadata["model-index"] = [{"name": name, "results": [result]}]
    text = TEXT.format(
        name=name,
        env_id=env_id,
        target=name if (folder / ENVIRONMENT).is_file() else short,
        task=summary(task_class(env_id)).rstrip("."),
        algorithm=card.algorithm,
        picture=f"\n![An episode]({PICTURE})\n" if (folder / PICTURE).is_file() else "",
        scores=results,
    )
    head = "".join(f"{key}: {json.dumps(value)}\n" for key, value in metadata.items())
    with replacing(folder / README) as file:
        file.write(f"---\n{head}---\n\n{text}".encode())

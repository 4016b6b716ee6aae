"""Command ``list``."""

from __future__ import annotations

from typing import Annotated

import gymnasium
import tyro

from gymnosoma.agents.policies.registry import all_ids, full_id, references_of, task_class
from gymnosoma.envs.core.env.documentation import summary


def list_(ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (), /) -> None:
    """List environments: task, duration, action modes, references.

    Args:
        ids: Environments to list. By default, all.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 1, 1, 0))
    for env_id in [full_id(name) for name in ids] or all_ids():
        # The task's class is enough here. Creating every environment would take seconds.
        kind, spec = task_class(env_id), gymnasium.spec(env_id)
        seconds = f"{(spec.max_episode_steps or 0) / kind.control_rate:.4g} s at {kind.control_rate:g} Hz"
        references = ", ".join(references_of(env_id)) or "none"
        text = f"{seconds}; actions: {', '.join(kind.action_modes)}; references: {references}"
        table.add_row(f"[bold]{env_id.split('/')[1]}", f"{summary(kind)}\n[dim]{text}")
    Console().print(table)

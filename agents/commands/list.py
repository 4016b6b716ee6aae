"""Command ``list``."""

from __future__ import annotations

import gymnasium

from gymnosoma.envs.core.describe import summary

from ..evaluation.policies import all_ids, references_of, task_class


def list_() -> None:
    """Show all environments: what is asked, for how long, what actions may mean, reference controllers."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 1, 1, 0))
    for env_id in all_ids():
        # From the class alone: to make every environment takes seconds.
        kind, spec = task_class(env_id), gymnasium.spec(env_id)
        seconds = f"{(spec.max_episode_steps or 0) / kind.control_rate:.4g} s at {kind.control_rate:g} Hz"
        known = ", ".join(references_of(env_id)) or "none"
        text = f"{seconds}; actions: {', '.join(kind.action_modes)}; references: {known}"
        table.add_row(f"[bold]{env_id.split('/')[1]}", f"{summary(kind)}\n[dim]{text}")
    Console().print(table)

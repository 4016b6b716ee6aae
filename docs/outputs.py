"""Run the examples of the guides, and write their output below them: ``python docs/outputs.py [PAGE ...]``.

Blocks of a page marked ``py`` run in one process, one after another; blocks marked ``sh`` run in the same folder if a
block marked ``text`` follows them. A block within a comment is not shown, and runs, too. A block whose first line is a
comment such as ``# my_agent.py`` or ``# hair.toml`` is also written into this file. After the comment
``<!-- lesson.ipynb, cell 3 -->``, a block marked ``text`` shows the output of the fourth cell of code of a notebook in
``examples``. The tests compare each page with what this program would write.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(py|python|sh|toml)\n(.*?)^```\n(-->\n)?(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
CELL = re.compile(r"^(<!-- (\w+\.ipynb), cell (\d+) -->\n\n```text\n).*?^```\n", re.DOTALL | re.MULTILINE)

os.environ.setdefault("MPLBACKEND", "agg")


def printed(code: str, names: dict[str, Any], label: str) -> str:
    """Return the output of an example in Python, which may use and set ``names``."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, label, "exec"), names)
    return out.getvalue()


@cache
def cells(name: str) -> list[str]:
    """Return the outputs of the cells of code of a notebook."""
    names: dict[str, Any] = {}
    notebook = json.loads((ROOT / "examples" / name).read_text("utf-8"))
    return [printed("".join(cell["source"]), names, name) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shell(commands: str) -> str:
    """Return the output of commands, and the error of a failed one."""
    command = f'gymnosoma() {{ {shlex.quote(sys.executable)} -m gymnosoma "$@"; }}\n{commands}'
    path = os.pathsep.join([".", *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "SDL_VIDEODRIVER": "dummy", "COLUMNS": "100", "PYTHONPATH": path}
    ended = subprocess.run(["bash", "-e", "-c", command], capture_output=True, text=True, env=env)
    errors = re.findall(r"^error: .*\n", ended.stderr, re.MULTILINE)  # without progress bars
    return ended.stdout + ("".join(errors) or ended.stderr) * (ended.returncode != 0)


def renewed(page: str) -> str:
    """Return the text of a page with the outputs of its blocks, which run in the working folder, and of notebooks."""
    names: dict[str, Any] = {}

    def shown(block: re.Match[str]) -> str:
        kind, code, hidden, before = block.groups()
        if file := re.match(r"# (\S+\.(?:py|toml))\n", code):
            Path(file[1]).write_text(code, "utf-8")
        if kind in ("python", "toml") or (kind == "sh" and before is None and not hidden):
            return block[0]
        text = shell(code) if kind == "sh" else printed(code, names, "an example")
        text = re.sub(r" +$", "", text, flags=re.MULTILINE).strip("\n")
        show = text and not (hidden and before is None)
        return f"```{kind}\n{code}```\n{hidden or ''}" + (f"\n```text\n{text}\n```\n" if show else "")

    shutil.copytree(ROOT / "tests" / "opensim", "tests/opensim")
    shutil.copy(ROOT / "tests" / "opensim" / "arm26.osim", ".")
    Path("docs/results").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "results" / "results.jsonl.xz", "docs/results")
    Path("my_package").mkdir()
    shutil.copy(ROOT / "tests" / "fixtures" / "worm_turn.py", "my_package/tasks.py")
    text = BLOCK.sub(shown, page)
    return CELL.sub(lambda block: f"{block[1]}{cells(block[2])[int(block[3])].strip()}\n```\n", text)


def main() -> None:
    """Rewrite pages."""
    for path in [Path(page).resolve() for page in sys.argv[1:]] or sorted((ROOT / "docs" / "guides").glob("*.md")):
        with TemporaryDirectory() as folder, contextlib.chdir(folder):
            text = renewed(path.read_text("utf-8"))
        path.write_text(text, "utf-8")
        print(path.name, flush=True)


if __name__ == "__main__":
    main()

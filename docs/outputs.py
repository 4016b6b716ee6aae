"""Run the examples of the guides, and write what they print below them: ``python docs/outputs.py [PAGE ...]``.

Blocks of a page marked ``py`` run in one process, one after another; blocks marked ``sh`` run in the same folder if a
block marked ``text`` follows them. A block that begins with a comment such as ``# my_agent.py`` is also written into
this file. After the comment ``<!-- lesson.ipynb, cell 3 -->``, a block marked ``text`` shows the output of the fourth
cell of code of a notebook in ``examples``. The tests run the blocks of Python and the notebooks, and compare.
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
BLOCK = re.compile(r"^```(py|python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
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
    """Return the output of commands, and of the errors of a failed one."""
    command = f'gymnosoma() {{ {shlex.quote(sys.executable)} -m gymnosoma "$@"; }}\n{commands}'
    env = {**os.environ, "SDL_VIDEODRIVER": "dummy", "COLUMNS": "100"}
    ended = subprocess.run(["bash", "-e", "-c", command], capture_output=True, text=True, env=env)
    return ended.stdout + ended.stderr * (ended.returncode != 0)


def main() -> None:
    """Rewrite pages."""
    for path in [Path(page).resolve() for page in sys.argv[1:]] or sorted((ROOT / "docs" / "guides").glob("*.md")):
        names: dict[str, Any] = {}

        def shown(block: re.Match[str], label: str = str(path), names: dict[str, Any] = names) -> str:
            kind, code, before = block.groups()
            if file := re.match(r"# (\S+\.py)\n", code):
                Path(file[1]).write_text(code, "utf-8")
            if kind == "python" or (kind == "sh" and before is None):
                return block[0]
            text = shell(code) if kind == "sh" else printed(code, names, label)
            text = re.sub(r" +$", "", text, flags=re.MULTILINE).strip("\n")
            return f"```{kind}\n{code}```\n" + f"\n```text\n{text}\n```\n" * bool(text)

        with TemporaryDirectory() as folder, contextlib.chdir(folder):
            shutil.copytree(ROOT / "tests" / "opensim", Path(folder) / "tests" / "opensim")
            shutil.copy(ROOT / "tests" / "opensim" / "arm26.osim", folder)
            (Path(folder) / "my_package").mkdir()
            shutil.copy(ROOT / "tests" / "fixtures" / "worm_turn.py", Path(folder) / "my_package" / "tasks.py")
            text = BLOCK.sub(shown, path.read_text("utf-8"))
            text = CELL.sub(lambda block: f"{block[1]}{cells(block[2])[int(block[3])].strip()}\n```\n", text)
            path.write_text(text, "utf-8")
        print(path.name, flush=True)


if __name__ == "__main__":
    main()

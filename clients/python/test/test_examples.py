"""What the README and the examples show runs."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from conftest import Bed, new_id, script

CLIENT = Path(__file__).parents[1]
ADDRESS = "http://127.0.0.1:8787"


def test_the_first_example_of_the_readme_runs_and_all_others_are_python(
    bed: Bed, capsys: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (CLIENT / "README.md").read_text("utf-8"), re.DOTALL)
    for block in blocks:
        ast.parse(block)
    (tmp_path / "README.md").write_text("# Contents")
    monkeypatch.chdir(tmp_path)
    instruction, key = script([["call", "read_file", {"path": "README.md"}]], [["text", "It is ", "read."]])
    shown = blocks[0].replace(ADDRESS, bed.direct).replace("my-session", new_id())
    assert '"Please read README.md."' in shown
    exec(compile(shown.replace('"Please read README.md."', repr(instruction)), "README.md", "exec"), {})
    assert "It is read." in capsys.readouterr().out
    assert bed("told", script=key)["outputs"] == ['"# Contents"']


def test_the_chat_reads_a_file_asks_before_a_mail_and_goes_on_after_it_was_killed(bed: Bed, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("contents of a")
    env = {**os.environ, "APTIX_URL": bed.direct, "SESSION": new_id()}

    def chat(typed: str, until: str | None = None) -> str:
        command = [sys.executable, str(CLIENT / "examples/chat.py")]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(command, cwd=tmp_path, env=env, text=True, **pipes) as process:  # type: ignore[call-overload]
            if until is None:
                return str(process.communicate(typed, timeout=30)[0])
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(typed)
            process.stdin.flush()
            said = ""
            while until not in said:
                piece = process.stdout.read(1)
                assert piece, said
                said += piece
            process.kill()
            return said

    calls = [["call", "read_file", {"path": "a.txt"}], ["call", "read_file", {"path": "/etc/passwd"}]]
    instruction, key = script(calls, [["call", "send_mail", {"to": "Ann"}]], [["text", "It is ", "done."]])
    assert "It leaves the house." in chat(f"{instruction}\n", until="Run it?")
    assert "It is done." in chat("y\n")
    outputs = bed("told", script=key)["outputs"]
    assert outputs[0] == '"contents of a"'
    assert "outside the folder" in outputs[1]
    assert '"sent":true' in outputs[2]


def test_the_chat_says_at_once_that_nobody_listens_and_how_to_start_a_service(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    command = [sys.executable, str(CLIENT / "examples/chat.py")]
    env = {**os.environ, "APTIX_URL": url}
    ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stderr) == (1, f"Nobody listens at {url}. Start the service with: make dev\n")


def test_the_cells_of_the_notebook_run(bed: Bed, capsys: Any) -> None:
    notebook = json.loads((CLIENT / "examples/notebook.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    instruction, key = script([["call", "population", {"city": "Lisbon"}]], [["text", "**545,000**"]])
    asked = '"How many people live in Lisbon?"'
    assert any(asked in cell for cell in cells)

    async def run() -> dict[str, Any]:
        names: dict[str, Any] = {}
        for cell in cells:
            text = (
                cell.replace(ADDRESS, bed.direct)
                .replace('"notebook"', repr(new_id()))
                .replace(asked, repr(instruction))
            )
            value = eval(compile(text, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
            if inspect.iscoroutine(value):
                await value
        await names["aptix"].close()
        return names

    names = asyncio.run(run())
    assert capsys.readouterr().out == "**545,000**"
    assert names["turn"]._repr_markdown_() == "**545,000**"
    assert bed("told", script=key)["outputs"] == ["545000"]

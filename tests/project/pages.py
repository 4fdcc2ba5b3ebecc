"""Runs the code of a page of docs, from top to bottom, as a reader would.

```python   is executed; all blocks of a page share one namespace and one empty working folder
```text     right after a python block: what that block prints, exactly, trailing spaces aside
```bash     lines that start with `hedgerow ` (or `$ hedgerow `) are run; the others are left alone. A line that is one
            command, with files for its standard streams at most, is run in this process: another one would spend most
            of its time importing. A shell runs the others
<!-- not run: why -->   on the line before a block: it is skipped, and so is the text block after it
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

_FENCE = re.compile(r"^```\s*(\w*)\s*$")
_SKIP = re.compile(r"^<!-- not run: \S.* -->$")
_SHELL = ("bash", "shell", "sh", "console")


@dataclass(frozen=True)
class Block:
    """A fenced block. `line` is the line of its first line of code, from 1; `follows`: only blank lines before it."""

    language: str
    code: str
    line: int
    run: bool
    follows: bool


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page in order."""
    inside: str | None = None
    begin = 0
    last = ""  # the last line that is not blank
    follows = run = False
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        fence = _FENCE.match(line)
        if inside is None and fence:
            inside, begin = fence[1], number + 1
            run, follows = not _SKIP.match(last), last == "```"
        elif inside is not None and line.rstrip() == "```":
            yield Block(inside, "\n".join(lines[begin - 1 : number - 1]), begin, run, follows)
            inside = None
        if line.strip():
            last = line.strip()
    if inside is not None:
        raise ValueError(f"line {begin - 1}: the block does not end")


def run_page(text: str, name: str) -> None:
    """Run a page in the current folder. An AssertionError names the line where text and output differ."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None  # what the last block printed, if it was a python block that ran
    for block in blocks(text):
        if block.language == "text" and block.follows:
            if printed is not None:
                where = f"{name}, line {block.line}"
                assert _trimmed(printed) == _trimmed(block.code), f"{where}: this is not what the code prints"
            printed = None
        elif not block.run:
            printed = None
        elif block.language == "python":
            printed = _run_python(block, name, namespace)
        else:
            printed = None
            if block.language in _SHELL:
                _run_shell(block, name)


def _run_python(block: Block, name: str, namespace: dict[str, Any]) -> str:
    output = io.StringIO()
    # The empty lines in front give a traceback the line numbers of the page.
    code = compile("\n" * (block.line - 1) + block.code, name, "exec")
    with contextlib.redirect_stdout(output):
        exec(code, namespace)
    return output.getvalue()


def _run_shell(block: Block, name: str) -> None:
    for line in block.code.replace("\\\n", " ").splitlines():
        command = line.removeprefix("$ ")
        if command.startswith("hedgerow "):
            lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words = list(lexer)
            signs = any(set(word) <= set("();&|") or word == ">>" for word in words)
            here = not signs and not set(command) & set("$`*")
            code, said = _run_here(words[1:]) if here else _run_in_shell(command)
            assert code == 0, f"{name}, after line {block.line}: {command}\n{said}"


def _run_here(words: list[str]) -> tuple[int, str]:
    """Run the command line with these arguments, in which "<" and ">" stand before files: exit code, and complaints."""
    from hedgerow.cli.main import run

    streams = {"<": os.devnull, ">": os.devnull}
    while len(words) > 1 and words[-2] in streams:
        *words, sign, streams[sign] = words
    said = io.StringIO()
    with (
        open(streams["<"], encoding="utf-8") as given,
        open(streams[">"], "w", encoding="utf-8") as shown,
        mock.patch("sys.stdin", given),
        contextlib.redirect_stdout(shown),
        contextlib.redirect_stderr(said),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")
        code = run(words)
    return code, said.getvalue()


def _run_in_shell(command: str) -> tuple[int, str]:
    tools = os.path.dirname(sys.executable)
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    shell = ["bash", "-o", "pipefail", "-c", command]
    done = subprocess.run(shell, env=environment, capture_output=True, text=True)
    return done.returncode, done.stderr


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def pages(root: Path) -> list[Path]:
    """README.md and the pages of docs/."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]

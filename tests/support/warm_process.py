"""Runs Python modules and scripts in processes that have imported what takes long already.

Each is forked from a server that has imported torch, executorch and transformers and run nothing of
them; it begins as `python -m` or `python script.py` would.
"""

from __future__ import annotations

import functools
import multiprocessing
import multiprocessing.reduction
import os
import runpy
import subprocess
import sys
import tempfile
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

_PRELOADED = ["polystate.export", "polystate.recipes.pretrained"]
_SECONDS = 300

CompletedText = subprocess.CompletedProcess[str]


def run_module(name: str, *arguments: object, cwd: Path | None = None) -> CompletedText:
    """``python -m name arguments``."""
    return _run("", name, list(map(str, arguments)), cwd)


def run_script(path: Path, *arguments: object, cwd: Path | None = None) -> CompletedText:
    """``python path arguments``."""
    return _run(str(path), "", list(map(str, arguments)), cwd)


def _run(script: str, module: str, arguments: list[str], cwd: Path | None) -> CompletedText:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        descriptors = [multiprocessing.reduction.DupFd(file.fileno()) for file in (out, err)]
        process = _server().Process(
            target=_begin, args=(script, module, arguments, str(cwd or Path.cwd()), descriptors)
        )
        process.start()
        process.join(_SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired([script or module, *arguments], _SECONDS)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(
            [script or module, *arguments], process.exitcode, out.read(), err.read()
        )


@functools.cache
def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _begin(script: str, module: str, arguments: list[str], cwd: str, descriptors: Any) -> None:
    for stream, descriptor in zip((sys.stdout, sys.stderr), descriptors, strict=True):
        os.dup2(descriptor.detach(), stream.fileno())
    os.chdir(cwd)
    sys.argv = [script or module, *arguments]
    # Not the folders that tests import from.
    installed = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.path[:] = [str(Path(script).parent) if script else cwd, *installed]
    if script:
        runpy.run_path(script, run_name="__main__")
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)

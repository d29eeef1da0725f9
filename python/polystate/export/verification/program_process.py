"""A finished program in a process of its own, so that nothing it does can end the export.

That process has no torch: a program runs there as it will in the end, with one pool of threads.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from polystate.errors import EngineError
from polystate.export.verification.arrays import as_array, as_tensor
from polystate.export.verification.workers import WorkerProcess

# A call may take this many times as long as the module itself, and at least some seconds.
_SLOWER = 100
_SECONDS = 30.0

# How the innermost function of an operator's kernel is named, with names as compilers write them.
_KERNELS = re.compile(
    r"(?:torch8executor6native|cria|at6native)\d+(?:opt_)?(?P<executorch>[a-z][a-z0-9_]*?)_out"
    r"|cpp_fused_(?P<aoti>\w+?)_\d+\b"
    r"|aoti_torch_cpu_(?P<shim>\w+)"
)


class ProgramEndedError(EngineError):
    """The process of a program ended, or was ended since it did not answer in time."""


class ProgramProcess:
    """One session of an artifact, called as a session is; use it in a ``with`` statement.

    Of states in `leading` it shows so many of the first dimension; the others must stay zero.

    Every method raises what the session raises, and ProgramEndedError where its process ends or
    does not answer in time, with the signal and the operator. No call is answered after that.
    """

    def __init__(self, artifact: Path, leading: Mapping[str, int] | None = None) -> None:
        self._state: dict[str, torch.Tensor] = {}
        self._process = WorkerProcess()
        try:
            path = str(artifact.absolute())
            # Idle threads of OpenMP there would otherwise spin, and slow this process.
            environment = {"OMP_WAIT_POLICY": "passive", **os.environ}
            self._ask("open", _SECONDS * 10, path, dict(leading or {}), environment)
        except BaseException:
            self._process.close()
            raise

    def __enter__(self) -> ProgramProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.close()

    def run(
        self, method: str, inputs: Sequence[torch.Tensor], seconds: float = 0.0
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Call a method; give its outputs, and the inputs after it.

        Parameters
        ----------
        seconds
            How long the module itself took.
        """
        limit = max(_SECONDS, _SLOWER * seconds)
        outputs, after = self._ask("run", limit, method, [as_array(each) for each in inputs])
        return [as_tensor(each) for each in outputs], [as_tensor(each) for each in after]

    def reset(self) -> None:
        """Set all state to its initial values."""
        self._ask("reset", _SECONDS)

    def state(self) -> Mapping[str, torch.Tensor]:
        """All state, by name."""
        changed = self._ask("changed_state", _SECONDS * 10)
        self._state |= {name: as_tensor(value) for name, value in changed.items()}
        return self._state

    def set_state(self, values: Mapping[str, torch.Tensor]) -> None:
        """Set some states."""
        arrays = {name: as_array(value) for name, value in values.items()}
        self._ask("set_state", _SECONDS * 10, arrays)

    def _ask(self, name: str, seconds: float, *arguments: Any) -> Any:
        try:
            self._process.connection.send((name, arguments))
            if not self._process.connection.poll(seconds):
                self._process.kill()
                raise ProgramEndedError(f"it has not ended after {seconds:g} s")
            error, answer = self._process.connection.recv()
        except (EOFError, ConnectionError):
            raise ProgramEndedError(self._how_it_ended()) from None
        if error is not None:
            raise error
        return answer

    def _how_it_ended(self) -> str:
        status = self._process.wait()
        told = self._process.output()
        if status >= 0:
            return f"its process ended with status {status}: {told.strip()[-300:]}"
        found = _KERNELS.search(told)
        operator = next((name for name in found.groups() if name), "") if found else ""
        where = f" in '{operator}'" if operator else ""
        return f"its process was ended by {signal.Signals(-status).name}{where}"

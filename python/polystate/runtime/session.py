"""One caller's state over a shared model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from polystate import _core
from polystate.errors import ContractError, UnsupportedError
from polystate.runtime.paths import checked_path


class Snapshot:
    """A copy of a session's state at one moment, for sessions of the same model."""

    __slots__ = ("_core",)

    def __init__(self, core: _core.Snapshot) -> None:
        self._core = core

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            "a Snapshot cannot be pickled or copied: restore it and write the state to a file with "
            "Session.save"
        )


class UnknownState(ContractError, KeyError):  # noqa: N818 - the reason, as KeyError
    """A name that no state has."""

    __str__ = Exception.__str__  # KeyError's quotes the message


class State(Mapping[str, Any]):
    """A session's state by name: reading gives a copy, assigning writes.

    A value must have the state's dtype and shape; numbers and lists are taken where they fit the
    dtype exactly.
    """

    def __init__(self, core: _core.Session, names: tuple[str, ...]) -> None:
        self._core = core
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Any:
        return self._core.read_state(self._known(name))

    def __setitem__(self, name: str, value: Any) -> None:
        self._core.write_state(self._known(name), value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"<state of {list(self._names)}>"

    def _known(self, name: str) -> str:
        if name not in self._names:
            raise UnknownState(f"no state is named {name!r}: there are {list(self._names)}")
        return name


class Session:
    """One caller's state over a shared model, which it keeps alive; made by ``Model.session``.

    Every call checks its inputs against the contract first, and a call that they refuse leaves the
    state as it was. A call while another thread runs one is refused with ``BusyError``. After a
    failure inside the program that may have left the state half updated, the message says so, and
    calls raise ``EngineError`` until ``reset``, ``restore`` or ``load``.
    """

    def __init__(self, core: _core.Session, state: tuple[str, ...]) -> None:
        self._core = core
        self._state = State(core, state)

    def run(self, method: str, /, *tensors: Any, **named: Any) -> tuple[Any, ...]:
        """Run a method.

        Parameters
        ----------
        method
            Its name.
        *tensors, **named
            The inputs in the manifest's order, or by name: torch tensors on the CPU, NumPy arrays,
            other buffers, or numbers and lists of them where they fit the input's dtype exactly.
            Dense memory is used as it is, and must stay unchanged during the call.

        Returns
        -------
        tuple
            The outputs: torch tensors in a process that has imported torch, else NumPy arrays. An
            input that the method mutates is written in place instead, after the call succeeded.

        Raises
        ------
        ContractError
            An input is not one that the method takes. The call was refused: no output, no state
            and no input was written, unless the message says that the state may be half updated.
        BusyError
            Another thread is using the session.
        EngineError
            The engine failed while it ran.
        UnsupportedError
            An output is bfloat16, and neither torch nor ml_dtypes is there.
        """
        return self._core.run(method, tensors, named)

    @property
    def state(self) -> State:
        """The state by its fully qualified names."""
        return self._state

    def reset(self) -> None:
        """Set all state to its initial values."""
        self._core.reset()

    def snapshot(self) -> Snapshot:
        """Copy all state."""
        return Snapshot(self._core.snapshot())

    def restore(self, snapshot: Snapshot) -> None:
        """Set all state as it was at ``snapshot``, which may be of another session of the model.

        Raises
        ------
        ContractError
            The snapshot is of another model.
        """
        if not isinstance(snapshot, Snapshot):
            raise ContractError(f"a {type(snapshot).__name__} is no Snapshot")
        self._core.restore(snapshot._core)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all state to a file, which appears as a whole or not at all."""
        self._core.save(checked_path(path))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Set all state as ``save`` wrote it.

        Raises
        ------
        ContractError
            The file is of another model. The state is as it was.
        ArtifactError
            The file is damaged. The state is as it was.
        UnsupportedError
            A newer polystate wrote the file. The state is as it was.
        """
        self._core.load(checked_path(path))

    def take_profile(self) -> bytes:
        """Give what was recorded of the calls since the last time.

        Returns
        -------
        bytes
            Of ExecuTorch an ETDump; of AOTInductor a trace of its kernels in Chrome's format.

        Raises
        ------
        ContractError
            The session was made without ``profile=True``.
        """
        return self._core.take_profile()

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            "a Session cannot be pickled or copied: write its state with save, and load that into "
            "a session of the other process"
        )

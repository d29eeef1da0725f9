"""The exceptions of polystate, all of them :class:`Error`."""

from __future__ import annotations


class Error(Exception):
    """Anything that polystate refuses or that fails inside it.

    Attributes
    ----------
    example
        Of an export: the page of the example database on this kind of problem, which ``polystate
        explain NAME`` shows; None: there is none.
    """

    example: str | None = None


class ExportError(Error):
    """A program that cannot be exported soundly.

    The message names the user's line and a rewrite that works.
    """


class ContractError(Error):
    """An input, a name or an option that the model does not take.

    The call was refused: no output, no state and no input was written. A check inside the program
    may refuse it half-way: where it cannot stop in time, the message says that the state may be
    half updated.
    """


class ArtifactError(Error):
    """An artifact that is damaged, inconsistent or not trusted."""


class UnsupportedError(Error):
    """Well-formed, but this build, backend or machine cannot do it."""


class EngineError(Error):
    """The engine failed while it ran."""


class BusyError(Error):
    """Another thread is using the session."""


class IoError(Error, OSError):
    """Reading or writing a file failed; what was there before is still there.

    ``errno`` is set where Python made the call that failed; the message says why in any case.
    """

    def __str__(self) -> str:
        return str(self.args[-1]) if self.args else ""  # OSError's begins with the number

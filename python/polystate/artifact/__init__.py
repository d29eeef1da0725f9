"""Artifacts as files: their manifest as data, and how they are written."""

from polystate.artifact.file_content import FileContent
from polystate.artifact.golden import GoldenCall, golden_npz
from polystate.artifact.manifest import FORMAT_VERSION, Manifest
from polystate.artifact.write import check_destination, write_artifact, write_temporary_artifact

__all__ = [
    "FORMAT_VERSION",
    "FileContent",
    "GoldenCall",
    "Manifest",
    "check_destination",
    "golden_npz",
    "write_artifact",
    "write_temporary_artifact",
]

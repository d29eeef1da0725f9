#!/usr/bin/env python3
"""Run clang-tidy on the sources of a compilation database that changed since they were clean.

A source is unchanged when its command, its text, the project's headers that it includes, the
configuration and clang-tidy's version are what they were; the digests of clean sources lie in the
build directory.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Check what changed; the exit status is 1 when anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="a configured build directory")
    parser.add_argument("--jobs", type=int, default=2, help="sources at a time (default: 2)")
    parser.add_argument(
        "--all", action="store_true", help="also those that were clean before; remembers nothing"
    )
    parser.add_argument("sources", nargs="*", type=Path, help="only these (default: all)")
    options = parser.parse_args()

    commands = own_commands(options.build)
    if options.sources:
        wanted = {source.resolve() for source in options.sources}
        commands = [command for command in commands if Path(command["file"]) in wanted]
    clean = options.build / "clang-tidy"
    clean.mkdir(exist_ok=True)
    version = run(["clang-tidy", "--version"]).stdout
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        reports = pool.map(
            lambda command: (
                tidy(command, options.build) if options.all else check(command, clean, version)
            ),
            commands,
        )
        findings = 0
        for command, report in zip(commands, reports, strict=True):
            if report:
                findings += 1
                print(f"{Path(command['file']).relative_to(ROOT)}:\n{report}", flush=True)
    print(f"clang-tidy: {len(commands)} sources, {findings} with findings")
    return 1 if findings else 0


def own_commands(build: Path) -> list[dict[str, str]]:
    """Return the database's entries for sources of this project, each source once."""
    entries = json.loads((build / "compile_commands.json").read_text())
    own = {entry["file"]: entry for entry in entries if Path(entry["file"]).is_relative_to(ROOT)}
    generated = build.resolve()
    return [own[file] for file in sorted(own) if not Path(file).is_relative_to(generated)]


def check(command: dict[str, str], clean: Path, version: bytes) -> str:
    """Return clang-tidy's report on one source, empty when it is clean now or was before."""
    digest = digest_of(command, version)
    mark = clean / hashlib.sha256(command["file"].encode()).hexdigest()
    if mark.exists() and mark.read_text() == digest:
        return ""
    report = tidy(command, clean.parent)
    if not report:
        mark.write_text(digest)
    return report


def tidy(command: dict[str, str], build: Path) -> str:
    """Return clang-tidy's report on one source, empty when it is clean."""
    # The commands are another compiler's, whose tuning clang does not know.
    quiet = ["--quiet", "--extra-arg=-Wno-unused-command-line-argument"]
    result = run(["clang-tidy", "-p", str(build), *quiet, command["file"]])
    return "" if result.returncode == 0 else (result.stdout + result.stderr).decode()


def digest_of(command: dict[str, str], version: bytes) -> str:
    """Digest everything that decides about a source's findings, but the system's headers."""
    digest = hashlib.sha256(version + command["command"].encode())
    configurations = [folder / ".clang-tidy" for folder in Path(command["file"]).parents]
    files = [str(file) for file in configurations if file.exists()]
    for file in [*files, *sorted(included_files(command))]:
        digest.update(file.encode() + (Path(command["directory"]) / file).read_bytes())
    return digest.hexdigest()


def included_files(command: dict[str, str]) -> set[str]:
    """Return the source and all that it includes but system headers, as the compiler sees it."""
    arguments = shlex.split(command["command"])
    compiler = arguments[1:] if Path(arguments[0]).name == "ccache" else arguments
    without_output = compiler[: compiler.index("-o")]
    rule = run([*without_output, "-MM", "-MT", "source", command["file"]], cwd=command["directory"])
    if rule.returncode != 0:
        return {command["file"]}
    return set(rule.stdout.decode().replace("\\\n", " ").split()[1:])


def run(command: list[str], cwd: str | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a command, whatever its exit status, and keep what it prints."""
    return subprocess.run(command, cwd=cwd, capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(main())

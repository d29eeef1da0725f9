"""The store of what tests export: made once, whole or made again, and never too large."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import polystate as ps
from tests.support import exported_models
from tests.support.store import Store
from tools import ingredients


def write(out: Path, text: str = "artifact") -> None:
    (out / "file").write_text(text)


def refuse(out: Path) -> None:
    raise AssertionError(f"{out} is made again")


def test_what_was_made_is_found_by_another_process_s_store(tmp_path: Path) -> None:
    made = Store(tmp_path).get("a", write)
    found = Store(tmp_path).get("a", refuse)
    assert found == made
    assert (found / "file").read_text() == "artifact"


@pytest.mark.parametrize("damage", ["changed", "missing", "added"])
def test_a_damaged_folder_is_made_again(tmp_path: Path, damage: str) -> None:
    file = Store(tmp_path).get("a", write) / "file"
    if damage == "changed":
        file.write_text("artifakt")
    elif damage == "missing":
        file.unlink()
    else:
        file.with_name("other").write_text("")
    folder = Store(tmp_path).get("a", write)
    assert sorted(path.name for path in folder.iterdir()) == ["KEPT", "file"]
    assert (folder / "file").read_text() == "artifact"


def test_what_failed_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail(out: Path) -> None:
        write(out)
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        Store(tmp_path).get("a", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["a.lock"]
    assert (Store(tmp_path).get("a", write) / "file").read_text() == "artifact"


def test_of_processes_that_want_the_same_one_makes_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_get_slowly, args=(tmp_path,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    assert (tmp_path / "made").read_text() == "once\n"


def _get_slowly(folder: Path) -> None:
    def make(out: Path) -> None:
        with (folder / "made").open("a") as file:
            file.write("once\n")
        time.sleep(0.3)
        write(out)

    assert (Store(folder / "store").get("a", make) / "file").read_text() == "artifact"


def test_the_longest_unused_go_where_there_are_too_many(tmp_path: Path) -> None:
    for number, name in enumerate(("old", "used", "new")):
        path = Store(tmp_path, limit=5000).get(name, lambda out: write(out, "x" * 2000))
        os.utime(path, (number, number))
    Store(tmp_path, limit=5000).get("used", refuse)
    Store(tmp_path, limit=5000).get("another", lambda out: write(out, "x" * 2000))
    kept = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert kept == {"used", "another"}


def test_what_another_process_may_be_reading_stays(tmp_path: Path) -> None:
    for name in ("one", "two"):
        Store(tmp_path, limit=3000).get(name, lambda out: write(out, "x" * 2000))
    assert (tmp_path / "one" / "file").exists()


class AskedMeanwhile(Store):
    """A store of which another process asks for a folder while this one waits for its lock."""

    @contextlib.contextmanager
    def _locked(self, digest: str) -> Iterator[None]:
        with super()._locked(digest):
            if digest == "old":
                os.utime(self._folder / digest)
            yield


def test_what_another_process_asked_for_meanwhile_stays(tmp_path: Path) -> None:
    old = Store(tmp_path).get("old", lambda out: write(out, "x" * 2000))
    os.utime(old, (0, 0))
    AskedMeanwhile(tmp_path, limit=3000).get("new", lambda out: write(out, "x" * 2000))
    assert (old / "file").exists()
    os.utime(old, (0, 0))
    Store(tmp_path, limit=3000).get("newer", lambda out: write(out, "x" * 2000))
    assert not old.exists()


def test_what_killed_processes_had_begun_goes(tmp_path: Path) -> None:
    for name in ("new-killed", "new-begun"):
        (tmp_path / name / "made").mkdir(parents=True)
    os.utime(tmp_path / "new-killed", (0, 0))
    Store(tmp_path).get("a", write)
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"a", "new-begun"}


def test_the_lock_of_what_is_no_longer_there_goes(tmp_path: Path) -> None:
    old = Store(tmp_path).get("old", lambda out: write(out, "x" * 2000))
    for path in (old, tmp_path / "old.lock"):
        os.utime(path, (0, 0))
    Store(tmp_path, limit=3000).get("new", lambda out: write(out, "x" * 2000))
    os.utime(tmp_path / "new.lock", (0, 0))  # of what is there
    Store(tmp_path).get("a", write)
    assert {path.name for path in tmp_path.glob("*.lock")} == {"a.lock", "new.lock"}


def test_who_waits_for_a_lock_that_is_removed_waits_for_the_next_one(tmp_path: Path) -> None:
    store, lock = Store(tmp_path), tmp_path / "a.lock"
    waiting = threading.Thread(target=lambda: Store(tmp_path).get("a", write))
    with store._locked("a"):
        waiting.start()
        time.sleep(0.2)
        lock.unlink()
        with store._locked("a"):  # which a third one has by now
            time.sleep(0.2)
            assert not (tmp_path / "a").exists()
    waiting.join(60)
    assert (tmp_path / "a" / "file").exists()


def test_what_another_extension_made_is_made_again_unless_any_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYSTATE_CACHE", str(tmp_path))
    monkeypatch.delenv("POLYSTATE_ANY_MAKER", raising=False)
    Store.of_user("one").get("a", write)
    Store.of_user("one").get("a", refuse)
    with pytest.raises(AssertionError, match="made again"):
        Store.of_user("another").get("a", refuse)
    made = Store.of_user("another").get("a", write)
    assert Store.of_user("one").get("a", refuse) != made
    monkeypatch.setenv("POLYSTATE_ANY_MAKER", "1")
    assert Store.of_user("another").get("a", refuse) == made
    Store.of_user("a third").get("a", refuse)


def test_the_extension_is_the_maker_of_what_tests_export() -> None:
    extension, *_ = ingredients.compiled()
    assert extension.name.startswith("_core")


def test_without_a_folder_nothing_outlives_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYSTATE_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = Store.of_user().get("a", write)
    assert Store.of_user().get("a", write) != first
    assert not any(tmp_path.iterdir())


def _export(out: Path, option: int) -> None:
    write(out, str(option))


def test_what_a_function_makes_is_kept_by_its_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exported_models, "_store", lambda: Store(tmp_path))
    one, two = (exported_models.kept(_export, option) for option in (1, 2))
    assert one != two
    assert exported_models.kept(_export, 1) == one


def test_what_is_made_from_edited_files_is_kept_for_this_process_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exported_models, "_store", lambda: Store(tmp_path))
    monkeypatch.setattr(exported_models, "_STARTED", 0.0)  # before all files were written
    made = exported_models.kept(_export, 1)
    assert exported_models.kept(_export, 1) == made
    monkeypatch.setattr(exported_models.os, "getpid", lambda: -1)
    other = exported_models.kept(_export, 1)
    monkeypatch.undo()
    monkeypatch.setattr(exported_models, "_store", lambda: Store(tmp_path))
    assert len({made, other, exported_models.kept(_export, 1)}) == 3


EXPORT = {"weight": 1.0, "count": 3, "backend": "portable", "extension": b"one"}
OTHER = {"weight": 2.0, "count": 4, "backend": "xnnpack", "extension": b"another"}


@pytest.mark.parametrize("changed", OTHER)
def test_what_a_test_exports_is_made_anew_where_anything_differs_that_it_follows_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    monkeypatch.setenv("POLYSTATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("POLYSTATE_ANY_MAKER", raising=False)
    monkeypatch.setattr(exported_models, "_store", exported_models._store.__wrapped__)
    extension = tmp_path / "_core.so"
    monkeypatch.setattr(ingredients, "compiled", lambda: (extension,))
    made: list[str] = []
    monkeypatch.setattr(ps, "export", lambda *_, backend, **__: made.append(backend))

    def export(weight: float, count: int, backend: str, extension_s: bytes) -> None:
        monkeypatch.setattr(exported_models, "_counts", Counter())  # as in another run
        extension.write_bytes(extension_s)
        model = torch.nn.Linear(1, 1)
        torch.nn.init.constant_(model.weight, weight)
        torch.nn.init.zeros_(model.bias)
        method = ps.Method("forward", (torch.zeros(1),))
        draws = ps.Draws(count=count)
        exported_models.exported(model, {"forward": method}, backend, draws=draws)

    for _ in range(2):
        export(*EXPORT.values())
    assert len(made) == 1
    export(*(EXPORT | {changed: OTHER[changed]}).values())
    assert len(made) == 2

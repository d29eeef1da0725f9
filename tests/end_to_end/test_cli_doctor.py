"""``polystate doctor``."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import polystate as ps
from tests.end_to_end import toy as toys
from tests.end_to_end.command_line import polystate
from tests.support.altered_artifacts import change_golden, change_manifest
from tests.support.exported_models import kept


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.toy(tmp_path_factory.mktemp("doctor"))


@pytest.fixture
def toy(original: Path, tmp_path: Path) -> Path:
    subprocess.run(["cp", "-r", original, tmp_path / "toy"], check=True)
    return tmp_path / "toy"


def diagnosis(artifact: Path, status: int) -> dict[str, Any]:
    done = polystate("doctor", artifact, "--json")
    assert done.returncode == status, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["ok"] == (status == 0)
    return answer


def outcomes(answer: dict[str, Any]) -> dict[str, str]:
    return {step["name"]: step["outcome"] for step in answer["steps"]}


def test_a_sound_artifact_passes_every_step(toy: Path) -> None:
    done = polystate("doctor", toy)
    assert (done.returncode, done.stderr) == (0, "")
    for step in ["processor", "versions", "artifact", "engine", "memory", "session", "golden"]:
        assert f"{step:<10}ok" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_the_json_has_the_keys_that_the_documentation_lists(toy: Path) -> None:
    answer = diagnosis(toy, 0)
    assert list(answer) == ["ok", "cpu", "versions", "exported_by", "steps", "deviation"]
    assert set(answer["versions"]) == {"polystate", "executorch"}
    assert answer["exported_by"]["torch"].startswith("2.")
    assert answer["cpu"]["threads"] >= 1
    assert answer["deviation"] is None


def test_processor_features_are_those_of_the_operating_system(toy: Path) -> None:
    features = diagnosis(toy, 0)["cpu"]["features"]
    flags = set(Path("/proc/cpuinfo").read_text().split())
    flag_of = {
        "AVX2": "avx2",
        "AVX-VNNI": "avx_vnni",
        "AVX-512": "avx512f",
        "AVX-512 VNNI": "avx512_vnni",
    }
    for name, flag in flag_of.items():
        if name in features:
            assert features[name] == (flag in flags)


def test_the_first_deviation_is_named_with_place_values_and_limit(toy: Path) -> None:
    manifest = json.loads((toy / "manifest.json").read_text())
    call = manifest["golden"]["calls"].index("step")
    name = f"call_{call:03d}/output_0"
    with np.load(toy / "golden.npz") as file:
        recorded = file[name]

    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name][0, 1] += 1
        arrays[name][0, 2] += 1

    change_golden(toy, change)
    answer = diagnosis(toy, 5)
    assert outcomes(answer)["golden"] == "FAILED"
    deviation = answer["deviation"]
    assert (deviation["call"], deviation["method"]) == (call, "step")
    assert (deviation["tensor"], deviation["place"]) == ("output '0'", "[0, 1]")
    assert float(deviation["expected"]) == recorded[0, 1] + 1
    assert float(deviation["found"]) == pytest.approx(recorded[0, 1])
    assert float(deviation["limit"]) < 0.1
    done = polystate("doctor", toy)
    assert f"call_{call:03d} (step), output '0' [0, 1]: expected" in " ".join(done.stdout.split())


def test_a_deviation_of_a_mutated_input_is_noticed(toy: Path) -> None:
    manifest = json.loads((toy / "manifest.json").read_text())
    call = manifest["golden"]["calls"].index("double")

    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[f"call_{call:03d}/written_0"][-1] = np.nan

    change_golden(toy, change)
    deviation = diagnosis(toy, 5)["deviation"]
    assert deviation["tensor"] == "input 'data' after the call"
    assert deviation["expected"] == "nan"


def test_integers_must_be_exact_whatever_the_tolerance(toy: Path) -> None:
    manifest = json.loads((toy / "manifest.json").read_text())
    call = manifest["golden"]["calls"].index("step")
    change_manifest(toy, lambda m: m["golden"].update(absolute_tolerance=10.0))
    change_golden(toy, lambda arrays: arrays.update({f"call_{call:03d}/output_1": np.int64(99)}))
    deviation = diagnosis(toy, 5)["deviation"]
    assert (deviation["expected"], deviation["place"], deviation["limit"]) == ("99", "[]", "")


def test_a_record_that_lacks_a_tensor_is_a_bad_artifact(toy: Path) -> None:
    change_golden(toy, lambda arrays: arrays.pop("call_000/output_0"))
    answer = diagnosis(toy, 3)
    assert answer["steps"][-1]["detail"] == (
        "call_000 (step): golden.npz has no entry 'call_000/output_0'"
    )


def thin(arrays: dict[str, Any], name: str, **others: Any) -> None:
    """Leaves the first value of a recorded tensor and, of the last, what is 1 more."""
    value = arrays[name]
    places = np.array([0, value.size - 1])
    arrays[f"{name}_places"], arrays[f"{name}_shape"] = places, np.array(value.shape)
    arrays[name] = value.reshape(-1)[places] + np.array([0, 1], value.dtype)
    arrays.update({f"{name}_{key}": array for key, array in others.items()})


def test_of_a_thinned_record_the_place_in_the_tensor_is_named(toy: Path) -> None:
    with np.load(toy / "golden.npz") as file:
        shape = file["call_000/output_0"].shape
    change_golden(toy, lambda arrays: thin(arrays, "call_000/output_0"))
    deviation = diagnosis(toy, 5)["deviation"]
    assert deviation["place"] == str([size - 1 for size in shape])


@pytest.mark.parametrize(
    "wrong",
    [
        {"places": np.array([0])},
        {"places": np.array([0, 10**9])},
        {"places": np.array([-1, 0])},
        {"places": np.array([0.0, 1.0])},
        {"shape": np.array([-1, 3])},
        {"shape": np.array([2**62, 2**62])},
    ],
)
def test_a_thinned_record_that_does_not_fit_is_a_bad_artifact(
    toy: Path, wrong: dict[str, Any]
) -> None:
    change_golden(toy, lambda arrays: thin(arrays, "call_000/output_0", **wrong))
    assert "golden.npz: " in diagnosis(toy, 3)["steps"][-1]["detail"]


def test_a_thinned_record_without_its_shape_is_a_bad_artifact(toy: Path) -> None:
    def change(arrays: dict[str, Any]) -> None:
        thin(arrays, "call_000/output_0")
        del arrays["call_000/output_0_shape"]

    change_golden(toy, change)
    assert "no entry 'call_000/output_0_shape'" in diagnosis(toy, 3)["steps"][-1]["detail"]


def test_a_record_against_the_contract_is_a_bad_artifact(toy: Path) -> None:
    change_golden(
        toy, lambda arrays: arrays.update({"call_000/input_0": np.ones((9, 3), np.float32)})
    )
    assert "call_000 (step)" in diagnosis(toy, 3)["steps"][-1]["detail"]


@pytest.mark.parametrize(
    "contract",
    [b'[{"name":' + b"[" * 10**6 + b"]" * 10**6 + b"}]", b'[{"name": 1}]', b"[1]", b"{"],
    ids=["deep", "a number", "no object", "no JSON"],
)
def test_a_recorded_contract_that_is_none_is_a_bad_artifact(toy: Path, contract: bytes) -> None:
    values = np.frombuffer(contract, np.uint8)
    change_golden(toy, lambda arrays: arrays.update({"contract": values}))
    assert "the contract that was recorded" in diagnosis(toy, 3)["steps"][-1]["detail"]


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "wider": lambda size: size.update(max=size["max"] + 1),
    "without a limit": lambda size: size.update(max=2**63 - 1),
    "from less": lambda size: size.update(min=size["min"] - 1),
    "narrower": lambda size: size.update(max=size["max"] - 1),
    "from more": lambda size: size.update(min=size["min"] + 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("backend", ["portable", "xnnpack", "aoti"])
def test_ranges_that_the_program_does_not_have_are_found(
    backend: str, change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    made = kept(_export_ranges, backend, backend=backend)
    artifact = Path(shutil.copytree(made / "ranges", tmp_path / "ranges"))
    assert polystate("doctor", artifact, "--trust-code").returncode == 0
    change_manifest(artifact, lambda manifest: change(manifest["methods"][0]["symbols"][0]))
    done = polystate("doctor", artifact, "--trust-code")
    assert done.returncode == 3
    assert "'rows'" in done.stdout or '"rows"' in done.stdout


@pytest.mark.parametrize(
    "change",
    [lambda values: values.clear(), lambda values: values[0].update(max=values[0]["max"] + 1)],
)
def test_values_that_the_program_does_not_take_are_found(
    change: Callable[[list[dict[str, Any]]], None], toy: Path
) -> None:
    def of_step(manifest: dict[str, Any]) -> None:
        (step,) = (each for each in manifest["methods"] if each["name"] == "step")
        change(step["inputs"][1]["values"])

    change_manifest(toy, of_step)
    detail = diagnosis(toy, 3)["steps"][-1]["detail"]
    assert 'method "step", inputs 1 "position": manifest.json says' in detail
    assert "the program was made for" in detail


class Halves(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(2, -1).sum(1)


def _export_ranges(out: Path, backend: str) -> None:
    sizes = {0: 2 * torch.export.Dim("rows", min=1, max=4)}
    halves = ps.Method("forward", (torch.ones(4, 3),), dynamic_shapes=(sizes,))
    ps.export(Halves(), {"halves": halves}, backend=backend).save(out / "ranges")


def test_without_recorded_calls_the_step_is_skipped(toy: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["golden"] = None
        del manifest["files"]["golden.npz"]

    (toy / "golden.npz").unlink()
    change_manifest(toy, change)
    assert outcomes(diagnosis(toy, 0)) == {
        "artifact": "ok",
        "engine": "ok",
        "memory": "ok",
        "session": "ok",
        "golden": "skipped",
    }


def test_the_steps_stop_at_the_first_that_fails(toy: Path) -> None:
    program = toy / "model.pte"
    program.write_bytes(program.read_bytes()[:-1])
    answer = diagnosis(toy, 3)
    assert outcomes(answer) == {"artifact": "FAILED"}
    assert "model.pte" in answer["steps"][0]["detail"]


def test_a_program_that_is_none_fails_in_the_engine_and_is_a_bad_artifact(toy: Path) -> None:
    (toy / "model.pte").write_bytes(b"no program" * 100)
    change_manifest(toy, lambda manifest: None)
    answer = diagnosis(toy, 3)
    assert outcomes(answer) == {"artifact": "ok", "engine": "FAILED"}


def test_a_trusted_artifact_is_not_said_to_be_hashed(toy: Path) -> None:
    assert "every SHA-256 matches" in polystate("doctor", toy).stdout
    trusted = polystate("doctor", toy, "--trusted")
    assert trusted.returncode == 0
    assert "SHA-256" not in trusted.stdout


class Large(torch.nn.Module):
    """A state that takes memory once it is written."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.zeros(1 << 26))  # 256 MiB

    def write(self, x: torch.Tensor) -> torch.Tensor:
        self.table[:4] += x
        return self.table[:4] * 2


def large(folder: Path) -> None:
    method = ps.Method("write", (torch.ones(4),))
    program = ps.export(Large(), {"write": method}, backend="portable", draws=ps.Draws(count=1))
    program.save(folder / "large")


def test_a_machine_without_the_memory_is_told_before_anything_runs() -> None:
    artifact = kept(large) / "large"
    limit = 400 << 20
    done = polystate(
        "doctor",
        artifact,
        "--json",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 5, done.stderr
    failed = json.loads(done.stdout)["steps"][-1]
    assert (failed["name"], failed["outcome"]) == ("memory", "FAILED")
    for said in ("256.0 MiB", "ulimit -v", "sizes of buffers"):
        assert said in failed["detail"]
    assert outcomes(diagnosis(artifact, 0))["memory"] == "ok"

"""Programs for AOTInductor: machine code, over state and weights that the methods share."""

import json
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from polystate.errors import ArtifactError, ContractError, UnsupportedError
from tests.end_to_end.command_line import polystate
from tests.end_to_end.twins import Twins
from tests.support.altered_artifacts import seal

ROWS = Dim("rows", min=1, max=9)


class Memory(nn.Module):
    """A table that several methods share, and weights that two of them do."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 12)
        self.register_buffer("table", torch.zeros(16, 12))
        self.register_buffer("steps", torch.tensor([7, -3]))

    def write(self, x, positions):
        self.table[positions] = torch.relu(self.linear(x))
        self.steps.add_(1)
        return self.table.sum(), self.table.t()

    def read(self, x):
        scores = self.linear(x) @ self.table.t()
        return scores.softmax(-1), self.steps

    def take(self, positions):
        index = positions.sum().item()
        torch._check(index >= 0, lambda: "before the table")
        torch._check(index < 16)
        self.steps.mul_(2)
        return self.table[index]

    def halve(self, x):
        x.div_(2)
        return x


def some(rows, seed=0):
    return torch.randn(rows, 8, generator=torch.Generator().manual_seed(seed))


METHODS = {
    "write": ps.Method(
        "write",
        (some(3), torch.tensor([1, 5, 2])),
        dynamic_shapes={"x": {0: ROWS}, "positions": {0: ROWS}},
    ),
    "read": ps.Method("read", (some(2),), dynamic_shapes={"x": {0: ROWS}}),
    "take": ps.Method("take", (torch.tensor([2, 3]),)),
    "halve": ps.Method("halve", (torch.ones(4),)),
}


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    torch.manual_seed(0)
    return Twins(Memory().eval(), METHODS, tmp_path_factory.mktemp("aoti"), "aoti")


@pytest.fixture
def started(twins):
    twins.start()
    return twins


def test_methods_share_state_and_equal_the_module_at_all_sizes(started):
    for rows in (3, 1, 9):
        positions = torch.arange(rows) + 4
        started.call("read", some(rows))
        started.call("write", some(rows, seed=rows), positions)
        started.call("take", torch.tensor([2, 3]))
        started.call("halve", some(1)[0, :4])


def test_each_session_has_its_own_state_which_can_be_reset_and_kept(started, tmp_path):
    other = started.model.session()
    started.call("write", some(2), torch.tensor([0, 1]))
    assert other.state["table"].abs().sum() == 0
    started.session.save(tmp_path / "state")
    started.session.reset()
    torch.testing.assert_close(started.session.state["steps"], torch.tensor([7, -3]))
    other.load(tmp_path / "state")
    torch.testing.assert_close(other.state["table"], started.eager.table)


def test_outputs_are_the_callers_even_where_they_are_state(started):
    _, steps = started.session.run("read", some(1))
    steps.zero_()
    torch.testing.assert_close(started.session.state["steps"], torch.tensor([7, -3]))
    started.session.run("write", some(1), torch.tensor([3]))
    torch.testing.assert_close(steps, torch.zeros_like(steps))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((some(2).double(), torch.tensor([0, 1])), "float64"),
        ((some(2), torch.tensor([0, 16])), "16"),
        ((some(10), torch.arange(10)), "rows"),
    ],
)
def test_what_the_contract_refuses_never_reaches_the_machine_code(started, inputs, message):
    with pytest.raises(ContractError, match=message):
        started.session.run("write", *inputs)
    started.compare_state()


def test_a_check_of_values_fails_with_what_was_found_and_leaves_the_state(started):
    with pytest.raises(ContractError, match=r"found 24") as failure:
        started.session.run("take", torch.tensor([12, 12]))
    assert "test_aoti.py" in str(failure.value)
    started.compare_state()
    started.call("take", torch.tensor([12, 3]))


def test_weights_are_stored_once_and_zeros_not_at_all(twins):
    names = zipfile.ZipFile(twins.path / "model.pt2").namelist()
    assert len([name for name in names if "/weights/" in name]) == 2  # weight and bias
    assert [name for name in names if "/state/" in name] == ["archive/data/state/state_1"]


def test_the_command_line_shows_what_is_in_the_archive_and_no_graph(twins, tmp_path):
    graph = polystate("inspect", twins.path, "--graph", "read")
    assert (graph.returncode, graph.stdout) == (5, "")
    assert "model.pt2 is machine code, which has no graph of operators" in graph.stderr
    page = tmp_path / "page.html"
    assert polystate("inspect", twins.path, "--html", page).returncode == 0
    assert "archive/data/aotinductor/read/method.so" in page.read_text()
    assert polystate("diff", twins.path, twins.path).returncode == 0


def test_machine_code_is_refused_unless_it_is_trusted(twins):
    with pytest.raises(ArtifactError, match="trust_code"):
        ps.load(twins.path)
    with pytest.raises(ArtifactError, match="trust_code"):
        ps.pipeline(twins.path)
    doctor = polystate("doctor", twins.path)
    assert doctor.returncode != 0
    assert "trust_code" in doctor.stdout


def test_the_command_line_runs_what_it_trusts(twins):
    doctor = polystate("doctor", twins.path, "--trust-code")
    assert doctor.returncode == 0, doctor.stdout
    assert "calls replayed" in doctor.stdout


def test_nothing_stays_on_the_disk(twins, tmp_path):
    program = f"import polystate as ps; ps.load({str(twins.path)!r}, trust_code=True).session()"
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    assert list(tmp_path.iterdir()) == []


def test_what_needs_another_engine_is_refused_with_a_reason(twins):
    with pytest.raises(UnsupportedError, match="profile"):
        twins.model.session(profile=True)
    with pytest.raises(UnsupportedError, match="after lowering"):
        ps.export(
            Memory(),
            {"halve": METHODS["halve"]},
            backend="aoti",
            passes_after_lowering=[lambda module: None],
        )


def test_operators_that_the_engine_lacks_are_refused_by_name():
    @torch.library.custom_op("aoti_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    class Own(nn.Module):
        def forward(self, x):
            return twice(x)

    with pytest.raises(UnsupportedError, match=r"'forward' calls 'aoti_test.twice"):
        ps.export(Own(), {"forward": ps.Method("forward", (torch.ones(2),))}, backend="aoti")


@pytest.mark.parametrize("quantization", ["q8", "q8_0"])
def test_linears_of_eight_bits_and_rows_of_their_table_are_those_of_the_other_engine(
    tmp_path, quantization
):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(50, 32)
            self.inner = nn.Linear(32, 32)
            self.head = nn.Linear(32, 50, bias=False)
            self.head.weight = self.table.weight

        def forward(self, ids):
            x = self.table(ids)
            return self.head(torch.relu(self.inner(x.transpose(0, 1))) + x.transpose(0, 1))

    torch.manual_seed(0)
    model = Tied().eval()
    ids = torch.randint(0, 50, (3, 4))
    found = {}
    methods = {"forward": ps.Method("forward", (ids,))}
    for backend in ("portable", "xnnpack", "aoti"):
        program = ps.export(model, methods, backend=backend, quantization=quantization)
        session = ps.load(program.save(tmp_path / backend), trust_code=True).session()
        (found[backend],) = session.run("forward", ids)
        with pytest.raises(ContractError, match=r"value 50 at .* is above 49"):
            session.run("forward", torch.full((3, 4), 50))
    for backend in ("portable", "xnnpack"):
        torch.testing.assert_close(found["aoti"], found[backend], rtol=1e-5, atol=1e-5)


def changed(path: Path, target: Path, change) -> Path:
    """An artifact whose archive has other entries, as `change` makes them, with right digests."""
    target.mkdir()
    for file in path.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    with zipfile.ZipFile(path / "model.pt2") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    with zipfile.ZipFile(target / "model.pt2", "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    seal(target)
    return target


DATA = "archive/data/"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e.pop(DATA + "aotinductor/read/method.so"), "no entry"),
        (lambda e: e.pop(DATA + "weights/weight_0"), "no entry"),
        (lambda e: e.pop(DATA + "processor.json"), "no entry"),
        (lambda e: e.update({DATA + "processor.json": b'{"machine": 1}'}), "processor.json"),
        (lambda e: e.update({DATA + "weights/weight_0": b"short"}), "5 bytes"),
        (lambda e: e.update({DATA + "state/state_1": b""}), "initial bytes"),
        (lambda e: e.update({DATA + "aotinductor/read/method.so": b"\x7fELF"}), "does not load"),
        (
            lambda e: e.update(
                {DATA + "aotinductor/read/method.so": e[DATA + "aotinductor/take/method.so"]}
            ),
            "wants|inputs",
        ),
        (lambda e: e.update({DATA + "aotinductor/read/weights.json": b"{}"}), "wants a weight"),
        (lambda e: e.update({DATA + "aotinductor/read/weights.json": b"[1"}), "weights.json"),
        (
            lambda e: e.update(
                {
                    DATA + "aotinductor/read/weights.json": e[
                        DATA + "aotinductor/read/weights.json"
                    ].replace(b"weight_0", b"../state_1")
                }
            ),
            "file",
        ),
    ],
)
def test_a_damaged_archive_is_an_artifact_error(twins, tmp_path, change, message):
    with pytest.raises(ArtifactError, match=message):
        ps.load(changed(twins.path, tmp_path / "changed", change), trust_code=True)


@pytest.mark.parametrize(
    ("machine", "features", "message"),
    [
        (platform.machine(), ["fpu", "no_such_thing"], "with no_such_thing; .*target="),
        ("pdp11", [], f"type pdp11; this one is {platform.machine()}"),
    ],
)
def test_code_for_other_processors_is_not_loaded(twins, tmp_path, machine, features, message):
    def change(entries):
        needs = {"machine": machine, "features": features}
        entries[DATA + "processor.json"] = json.dumps(needs).encode()
        entries[DATA + "aotinductor/read/method.so"] = b"never looked at"

    with pytest.raises(UnsupportedError, match=message):
        ps.load(changed(twins.path, tmp_path / "changed", change), trust_code=True)


def needs_of(artifact: Path) -> dict[str, object]:
    with zipfile.ZipFile(artifact / "model.pt2") as archive:
        return json.loads(archive.read(DATA + "processor.json"))


IS_X86 = platform.machine() == "x86_64"


class Sum(nn.Module):
    def forward(self, x):
        return torch.relu(x + 1).sum(-1)


@pytest.fixture(scope="module")
def sums(tmp_path_factory):
    """An artifact of Sum, for old processors."""
    methods = {"forward": ps.Method("forward", (torch.randn(512, 1024),))}
    target = "x86-64-v2" if IS_X86 else None
    program = ps.export(Sum(), methods, backend="aoti", target=target)
    return program.save(tmp_path_factory.mktemp("sums") / "artifact")


@pytest.mark.skipif(not IS_X86, reason="names processors of that kind")
def test_a_target_is_compiled_for_and_needs_no_more(twins, sums, tmp_path):
    needs = needs_of(sums)
    assert "sse4_2" in needs["features"]
    assert "avx" not in needs["features"]
    assert "sse4_2" in needs_of(twins.path)["features"]
    with zipfile.ZipFile(sums / "model.pt2") as archive:
        library = tmp_path / "method.so"
        library.write_bytes(archive.read(DATA + "aotinductor/forward/method.so"))
    code = subprocess.run(["objdump", "-d", library], capture_output=True, text=True, check=True)
    assert "xmm" in code.stdout
    assert "ymm" not in code.stdout


def test_threads_are_those_of_the_model_or_the_callers_alone(sums):
    program = """
import os, sys
import numpy as np
import polystate as ps

threads = lambda: len(os.listdir("/proc/self/task"))
x = np.arange(512 * 1024, dtype=np.float32).reshape(512, 1024) / 1e6
model = ps.load(sys.argv[1], trust_code=True, threads=3)
before = threads()
(alone,) = model.session(single_threaded=True).run("forward", x)
assert threads() == before, (threads(), before)
(together,) = model.session().run("forward", x)
assert threads() == before + 2, (threads(), before)
np.testing.assert_allclose(together, alone, rtol=1e-6)
np.testing.assert_allclose(alone, np.maximum(x + 1, 0).sum(-1), rtol=1e-5)
"""
    command = [sys.executable, "-c", program, str(sums)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("said", [1, 3])
def test_threads_are_at_first_as_many_as_openmp_is_told(sums, said):
    program = """
import os, sys
import numpy as np
import polystate as ps

model = ps.load(sys.argv[1], trust_code=True)
before = len(os.listdir("/proc/self/task"))
model.session().run("forward", np.ones((512, 1024), dtype=np.float32))
print(len(os.listdir("/proc/self/task")) - before)
"""
    command = [sys.executable, "-c", program, str(sums)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(said)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == f"{said - 1}\n", done.stderr


class Exchange(nn.Module):
    """A number that is counted once a call beside rows that threads share; states that move."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor([5.0]))
        self.register_buffer("table", torch.zeros(4, 6))
        self.register_buffer("left", torch.tensor([1.0, 2.0]))
        self.register_buffer("right", torch.tensor([3.0, 4.0]))

    def write(self, x, column):
        self.count.add_(1)
        self.table.index_copy_(1, column, x)
        left = self.left.clone()
        self.left.copy_(self.right)
        self.right.copy_(left)


def test_what_one_thread_compiled_is_right_on_several(tmp_path):
    row = torch.ones(4, 1)
    methods = {"write": ps.Method("write", (row, torch.tensor([2])))}
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        program = ps.export(Exchange(), methods, backend="aoti")
    finally:
        torch.set_num_threads(before)
    session = ps.load(program.save(tmp_path / "module"), threads=4, trust_code=True).session()
    eager = Exchange()
    for column in (3, 0, 5):
        session.run("write", row, torch.tensor([column]))
        eager.write(row, torch.tensor([column]))
        for name, state in eager.named_buffers():
            torch.testing.assert_close(session.state[name], state)


@pytest.mark.parametrize(
    ("backend", "target", "message"),
    [
        ("aoti", "no-such-processor", "no-such-processor.*does not take"),
        ("aoti", "native -o stolen", "must name processors"),
        ("aoti", "native", "must name processors"),
        ("xnnpack", "x86-64-v3", "no code that is for a processor"),
    ],
)
def test_a_target_that_is_none_is_refused(backend, target, message):
    methods = {"halve": METHODS["halve"]}
    with pytest.raises(ContractError, match=message):
        ps.export(Memory(), methods, backend=backend, target=target)


def test_entries_with_other_paths_are_never_written(twins, tmp_path):
    def add(entries):
        entries["../outside"] = b"text"
        entries[DATA + "aotinductor/read/../../../outside"] = b"text"

    ps.load(changed(twins.path, tmp_path / "changed", add), trust_code=True).session()
    assert not list(tmp_path.rglob("outside"))

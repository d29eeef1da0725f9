"""What lies around the calls: other processes, other extensions, memory and descriptors."""

from __future__ import annotations

import gc
import os
import subprocess
from pathlib import Path

import pytest
import torch

import polystate as ps
from tests.python.runtime.runtime_support import RunPython
from tests.support.exported_models import kept
from tests.support.toy_chat import toy_chat
from tests.support.toy_translation import toy_translation

FORKED = """
import os, sys
import polystate as ps
model = ps.load(sys.argv[1])
session = model.session()
session.run("work", 1.0)
snapshot = session.snapshot()
calls = [
    lambda: session.run("get"), lambda: session.state["total"], lambda: session.reset(),
    lambda: session.restore(snapshot), lambda: session.save("/dev/null"), lambda: model.session(),
    lambda: ps.load(sys.argv[1]),
]
child = os.fork()
if child == 0:
    refused = 0
    for call in calls:
        try:
            call()
        except ps.UnsupportedError as error:
            refused += f"process {os.getpid()} was forked from process {os.getppid()}" in str(error)
    os._exit(refused)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(calls))
print(session.run("get")[0].tolist())
"""


def test_a_forked_process_is_refused_with_a_way_out(toy: Path, run_python: RunPython) -> None:
    assert run_python(FORKED, toy) == "7 7\n[1.0, 2.0, 3.0, 4.0]\n"


FORKED_BEFORE = """
import os, sys
import polystate as ps
import polystate.runtime
child = os.fork()
outcome = ps.load(sys.argv[1]).session().run("get")[0].tolist()
if child == 0:
    os._exit(0 if outcome == [1, 2, 3, 4] else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), outcome)
"""


def test_a_process_that_was_forked_before_may_load(toy: Path, run_python: RunPython) -> None:
    assert run_python(FORKED_BEFORE, toy) == "0 [1.0, 2.0, 3.0, 4.0]\n"


SPAWNED = """
import multiprocessing, sys

def work(path):
    import polystate as ps
    return ps.load(path).session().run("get")[0].tolist()

if __name__ == "__main__":
    import polystate as ps
    session = ps.load(sys.argv[1]).session()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(work, (sys.argv[1],)) == session.run("get")[0].tolist())
"""


def test_a_spawned_process_may_load(toy: Path, tmp_path: Path, run_python: RunPython) -> None:
    (tmp_path / "main.py").write_text(SPAWNED)
    program = "import runpy, sys; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    assert run_python(program, tmp_path / "main.py", toy) == "True\n"


IMPORTS = {
    "polystate": "import polystate as ps; session = ps.load(sys.argv[1]).session()",
    "exir": "import executorch.exir",
    "pybindings": "from executorch.extension.pybindings import portable_lib",
}

BOTH = """
import numpy as np, torch
from executorch.extension.pybindings import portable_lib
module = portable_lib._load_for_executorch(sys.argv[2])
[doubled] = module.run_method("float32", [torch.ones(2, 3)])
import polystate as ps
session = ps.load(sys.argv[1]).session()
print(session.run("add", torch.ones(1, 4))[0].tolist(), doubled.tolist())
"""


@pytest.mark.parametrize(
    "order",
    [
        ["polystate", "exir", "pybindings"],
        ["pybindings", "polystate", "exir"],
        ["exir", "pybindings", "polystate"],
    ],
    ids="-".join,
)
def test_executorchs_own_extension_works_beside_ours_in_any_order(
    toy: Path, echo: Path, run_python: RunPython, order: list[str]
) -> None:
    program = "import sys\n" + "\n".join(IMPORTS[name] for name in order) + BOTH
    expected = "[2.0, 3.0, 4.0, 5.0] [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]\n"
    assert run_python(program, toy, echo / "model.pte") == expected


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_memory_is_flat_over_a_hundred_thousand_calls(model: ps.Model) -> None:
    session = model.session()
    rows = torch.ones(2, 4)

    def call(times: int) -> None:
        for _ in range(times):
            session.run("add", rows)
            session.run("count", 1)

    call(5_000)
    gc.collect()
    before = resident_bytes()
    call(50_000)
    gc.collect()
    assert resident_bytes() - before < 1 << 20
    assert session.state["calls"] == 55_000


def test_memory_and_descriptors_are_flat_over_a_thousand_sessions(model: ps.Model) -> None:
    def use(times: int) -> None:
        for _ in range(times):
            session = model.session()
            session.run("add", [[1, 1, 1, 1]])
            session.restore(session.snapshot())

    use(50)
    gc.collect()
    before, open_before = resident_bytes(), descriptors()
    use(1_000)
    gc.collect()
    assert descriptors() == open_before
    assert resident_bytes() - before < 4 << 20


def test_memory_and_descriptors_are_flat_over_many_loads(toy: Path) -> None:
    def use(times: int) -> None:
        for _ in range(times):
            ps.load(toy).session().run("get")

    use(20)
    gc.collect()
    before, open_before = resident_bytes(), descriptors()
    use(200)
    gc.collect()
    assert descriptors() == open_before
    assert resident_bytes() - before < 8 << 20


OPENED = """
import os, sys
from pathlib import Path
import polystate as ps

def resident():
    # Without pages of files: those of the library are read as it is used, however large it is.
    pages = Path("/proc/self/statm").read_text().split()
    return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")

ps.load  # imports the library
before = resident()
model = ps.load(sys.argv[1])
sessions = [model.session()]
first = resident()
sessions.append(model.session())
print(model.state_bytes, first - before, resident() - first)
"""


class Caching(torch.nn.Module):
    cache: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(512, 512)
        self.register_buffer("cache", torch.zeros(16384, 512))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        row: torch.Tensor = self.linear(x)
        self.cache.index_copy_(0, position, row)
        return row


def export_caching(out: Path) -> None:
    method = ps.Method("forward", (torch.ones(1, 512), torch.tensor([3])))
    ps.export(Caching(), {"forward": method}).save(out / "model")


def test_opening_a_model_takes_no_memory_for_its_caches(run_python: RunPython) -> None:
    model = kept(export_caching, backend="xnnpack") / "model"
    state, opened, second = map(int, run_python(OPENED, model).split())
    weights = (model / "model.pte").stat().st_size
    assert state > 4 * weights
    assert opened < 2 * weights + state // 8  # the weights as they are stored and as they are used
    assert second < state // 16


RUNNING_AT_EXIT = """
import sys, threading, time
import numpy, polystate as ps
def work():
    session = ps.load(sys.argv[1]).session()
    while True:
        session.run("work", 1.0)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""


def test_a_process_ends_while_threads_run(toy: Path, run_python: RunPython) -> None:
    for _ in range(5):
        run_python(RUNNING_AT_EXIT, toy)


GERMAN = """
import locale, os, sys
import polystate as ps
os.environ["LOCPATH"] = sys.argv[5]
locale.setlocale(locale.LC_ALL, sys.argv[2])
assert locale.localeconv()["decimal_point"] == sys.argv[3]
session = ps.load(sys.argv[1]).session()
try:
    session.run("forward", [1.5], [0.25])
except ps.ContractError as error:
    print(error)
print(session.run("forward", [1.5], [0.75])[0].tolist(), locale.localeconv()["decimal_point"])
translate = ps.pipeline(sys.argv[4])
options = dict(num_beams=2, length_penalty=0.7, return_scores=True, max_new_tokens=9)
print(translate("I like it.", **options))
try:
    translate("Hi", temperature=-1.5)
except ps.ContractError as error:
    print(error)
"""


class Bounded(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        torch._assert_async((y > 0.5).all(), "y is too small")
        k = y.sum().item()
        torch._check(k < 100.5)
        return x * y


def export_bounded(out: Path) -> None:
    method = ps.Method("forward", (torch.ones(1), torch.ones(1)))
    ps.export(Bounded(), {"forward": method}, constants={"scale": 0.125}).save(out / "model")


@pytest.fixture
def locales(tmp_path: Path) -> Path:
    """A folder with a locale that has a decimal comma."""
    definition = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")]
    subprocess.run(definition, check=True, capture_output=True)
    return tmp_path


EXPORTED_GERMAN = """
import locale, os, sys
from pathlib import Path
os.environ["LOCPATH"] = sys.argv[1]
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.localeconv()["decimal_point"] == ","
from tests.python.runtime.test_process import exported_and_run
print(exported_and_run(Path(sys.argv[2]), sys.argv[3]))
"""


class Scaled(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([0.5, -1.25]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        k = x.sum().item()
        torch._check(k < 1e9 + 0.5)
        self.total.mul_(0.75).add_(x * 1.0625)
        return torch.nn.functional.leaky_relu(self.total, 0.03125) + k


def exported_and_run(out: Path, backend: str) -> str:
    """What an export reports, its results, and what a saved session has when it is opened."""
    methods = {"forward": ps.Method("forward", (torch.ones(2),))}
    draws = ps.Draws(count=4)
    program = ps.export(Scaled(), methods, backend=backend, constants={"scale": 0.125}, draws=draws)
    model = ps.load(program.save(out / "artifact"), trust_code=True)
    session, other = model.session(), model.session()
    results = session.run("forward", torch.tensor([1.5, 2.25]))
    session.save(out / "session")
    other.load(out / "session")
    manifest = (out / "artifact/manifest.json").read_text()
    values = [results[0].tolist(), other.state["total"].tolist(), model.constants["scale"]]
    return f"{program.report()}\n{manifest}\n{values}"


@pytest.mark.parametrize(
    "backend",
    [
        "aoti",
        pytest.param("portable", marks=pytest.mark.exhaustive),
        pytest.param("xnnpack", marks=pytest.mark.exhaustive),
    ],
)
def test_an_export_does_not_depend_on_the_decimal_comma_of_a_locale(
    locales: Path, run_python: RunPython, backend: str
) -> None:
    plain = locales / "plain"
    plain.mkdir()
    german = run_python(EXPORTED_GERMAN, locales, locales, backend)
    assert german == exported_and_run(plain, backend) + "\n"
    assert "0.125" in german


SPOKEN_GERMAN = """
import locale, os, sys
import polystate as ps
os.environ["LOCPATH"] = sys.argv[4]
locale.setlocale(locale.LC_ALL, sys.argv[2])
assert locale.localeconv()["decimal_point"] == sys.argv[3]
complete = ps.pipeline(sys.argv[1])
number = {"type": "number", "minimum": 0.25, "maximum": 9.75}
shape = {"type": "object", "properties": {"x": number}, "required": ["x"]}
print(
    ps.Tokenizer.open(sys.argv[1]).apply_chat_template(
        [{"role": "user", "content": "Hi"}],
        chat_template="{{ 0.5 * 3 }} {{ 1e-7 }} {{ '2.5' | float + weight }} {{ tools | tojson }}",
        tools=[{"name": "f", "parameters": shape}],
        weight=0.125,
        tokenize=False,
    )
)
chat = ps.Conversation(complete, do_sample=True, temperature=1.5, max_new_tokens=24)
form = {"type": "json_schema", "schema": shape}
print([chat.ask("Hi", seed=seed, response_format=form) for seed in range(5)])
print(complete.score("I like it."))
"""


def test_a_conversation_does_not_depend_on_the_decimal_comma_of_a_locale(
    locales: Path, run_python: RunPython
) -> None:
    chat = toy_chat() / "toy"
    plain = run_python(SPOKEN_GERMAN, chat, "C", ".", locales)
    german = run_python(SPOKEN_GERMAN, chat, "de_DE.UTF-8", ",", locales)
    assert german == plain
    assert "1.5 1e-07 2.625 [" in plain and '"minimum": 0.25' in plain


def test_nothing_depends_on_the_decimal_comma_of_a_locale(
    tmp_path: Path, locales: Path, run_python: RunPython
) -> None:
    model, translation = kept(export_bounded) / "model", toy_translation()
    plain = run_python(GERMAN, model, "C", ".", translation, tmp_path)
    german = run_python(GERMAN, model, "de_DE.UTF-8", ",", translation, tmp_path)
    assert german.replace("] ,", "] .") == plain

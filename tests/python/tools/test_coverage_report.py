"""The report of lines that tests reach: what is counted, left out and told first."""

from __future__ import annotations

from tools.coverage_report import Lines, read_cpp, read_python, report, without_lacking


def test_a_line_that_is_compiled_several_times_counts_once_and_is_reached_by_any() -> None:
    counted = [(3, 0), (3, 2), (4, 0), (4, 0), (5, 1)]
    lines = [{"line_number": number, "count": count} for number, count in counted]
    found = read_cpp({"files": [{"file": "src/core/half.h", "lines": lines}]})
    assert found == {"src/core/half.h": Lines(count=3, missed=1)}


def test_python_s_lines_are_its_statements() -> None:
    summary = {"num_statements": 8, "missing_lines": 2, "covered_lines": 6}
    found = read_python({"files": {"python/polystate/steps.py": {"summary": summary}}})
    assert found["python/polystate/steps.py"].percent == 75


def test_sources_of_instruction_sets_that_the_processor_lacks_are_left_out_by_name() -> None:
    kernels = "src/kernels/linear/quantized_linear"
    names = [f"{kernels}_{end}.cc" for end in ("avx2", "avx_vnni", "avx512_vnni", "scalar")]
    names += ["src/kernels/vectors/avx512_floats.h", "src/kernels/linear/avx2_tiles.h"]
    features = {"avx2", "fma", "f16c", "avx512_vnni"}
    files, left_out = without_lacking(dict.fromkeys(names, Lines(9, 9)), features)
    assert left_out == [f"{kernels}_avx_vnni.cc", "src/kernels/vectors/avx512_floats.h"]
    assert list(files) == [name for name in names if name not in left_out]


def test_a_report_has_folders_then_the_files_with_the_most_lines_missed() -> None:
    cpp = {
        "src/core/half.cc": Lines(100, 10),
        "src/core/json.cc": Lines(100, 30),
        "src/runner/loops/plan.cc": Lines(200, 0),
        "cli/main.cc": Lines(50, 50),
    }
    python = {"python/polystate/export/trace.py": Lines(10, 1)}
    text = report(cpp, python, ["src/kernels/cells_neon.cc"])
    found = [line.split() for line in text if line]
    assert ["src", "90.0%", "40", "of", "400", "missed"] in found
    assert ["src/core", "80.0%", "40", "of", "200", "missed"] in found
    assert ["src/runner", "100.0%", "0", "of", "200", "missed"] in found
    assert ["python/polystate/export", "90.0%", "1", "of", "10", "missed"] in found
    worst = [words[0] for words in found if words[0].endswith(".cc")]
    assert worst == ["cli/main.cc", "src/core/json.cc", "src/core/half.cc"]
    assert text[-1] == "left out, for what this processor lacks: src/kernels/cells_neon.cc"

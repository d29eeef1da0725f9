"""ARCHITECTURE.md's "Where to add" names files that exist, and what is added is in all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

ROOT = Path(__file__).parents[2]


def text(path: str) -> str:
    return (ROOT / path).read_text()


SECTION = text("ARCHITECTURE.md").partition("## Where to add\n")[2].partition("\n## ")[0]
PATHS = sorted({path for path in re.findall(r"`([\w./-]+)`", SECTION) if "/" in path})


def test_the_section_has_files_and_tests_for_each() -> None:
    rows = [row.split(" | ") for row in SECTION.splitlines() if row.startswith("| a")]
    assert len(rows) == 13
    for what, files, failing in rows:
        assert "`" in files, what
        assert "tests/" in failing, what


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_each_instruction_set_can_be_chosen_and_is_documented() -> None:
    source = text("src/core/instruction_set.cc")
    declared = re.findall(r"^  (k\w+),", text("src/core/instruction_set.h"), re.MULTILINE)
    best_first = source.partition("kBestFirst = {")[2].partition("};")[0]
    assert {f"InstructionSet::{name}" for name in declared} == {
        "InstructionSet::kScalar",
        *re.findall(r"InstructionSet::\w+", best_first),
    }
    names = re.findall(r'\{"(\w+)", InstructionSet::', source)
    documented = re.findall(r"`(?:POLYSTATE_INSTRUCTION_SET=)?(\w+)`", text("docs/translation.md"))
    assert set(names) <= set(documented)


def test_each_field_of_a_configuration_is_documented() -> None:
    fields = re.findall(r'\{"(\w+)", &Config::', text("src/sampler/config_fields.cc"))
    assert len(fields) > 30
    assert [name for name in fields if f"`{name}`" not in text("docs/translation.md")] == []


def test_each_logits_processor_has_its_place() -> None:
    declared = re.findall(r"^Processor (\w+)\(", text("src/sampler/processors/processors.h"), re.M)
    assert len(declared) > 10
    order = text("src/sampler/logits_processor.cc")
    assert [name for name in declared if f"sampler::{name}(" not in order] == []


# What each module has beside its stages.
BASES = {"Normalizer", "PreTokenizer", "PostProcessor", "Decoder", "Model"}
OTHERS = {"NORMALIZERS", "DecodeStream"}


@pytest.mark.parametrize(
    ("module", "reader"),
    [
        (normalizers, "normalizer"),
        (pre_tokenizers, "pre_tokenizer"),
        (models, "model"),
        (processors, "post_processor"),
        (decoders, "decoder"),
    ],
)
def test_each_stage_of_the_library_is_read(module: ModuleType, reader: str) -> None:
    stages = {name for name in dir(module) if name[0].isupper()} - BASES - OTHERS
    source = text(f"src/tokenizer/loaders/{reader}_json.cc")
    assert [name for name in sorted(stages) if f'"{name}"' not in source] == []


def test_each_engine_of_a_manifest_is_known_on_both_sides_and_documented() -> None:
    schema = json.loads(text("python/polystate/artifact/schema.json"))
    engines = schema["$defs"]["program"]["properties"]["engine"]["enum"]
    known = re.findall(r'program\.engine != "(\w+)"', text("src/artifact/manifest.cc"))
    assert sorted(known) == sorted(engines)
    assert [engine for engine in engines if engine not in text("docs/artifact.md")] == []


def test_each_command_is_declared_and_documented() -> None:
    declared = {
        name
        for header in (ROOT / "cli").glob("*/*.h")
        for name in re.findall(
            r"^void declare_(\w+)\(CLI::App& polystate,", header.read_text(), re.M
        )
    }
    called = set(re.findall(r"^  declare_(\w+)\(app, action\);", text("cli/main.cc"), re.MULTILINE))
    documented = re.findall(r"^## polystate (\w+) ", text("docs/command_line.md"), re.MULTILINE)
    assert declared == called == set(documented)
    assert declared

"""The processor that machine code is compiled for, and what it must have."""

from __future__ import annotations

import json
import platform
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch._inductor.cpp_builder import get_cpp_compiler

from polystate.errors import ContractError, ExportError

# What a compiler calls an extension that it may use, and the name of that in /proc/cpuinfo.
_X86 = {
    "ADX": "adx",
    "AES": "aes",
    "AMX_BF16": "amx_bf16",
    "AMX_INT8": "amx_int8",
    "AMX_TILE": "amx_tile",
    "AVX": "avx",
    "AVX2": "avx2",
    "AVX512BF16": "avx512_bf16",
    "AVX512BITALG": "avx512_bitalg",
    "AVX512BW": "avx512bw",
    "AVX512CD": "avx512cd",
    "AVX512DQ": "avx512dq",
    "AVX512F": "avx512f",
    "AVX512FP16": "avx512_fp16",
    "AVX512IFMA": "avx512ifma",
    "AVX512VBMI": "avx512vbmi",
    "AVX512VBMI2": "avx512_vbmi2",
    "AVX512VL": "avx512vl",
    "AVX512VNNI": "avx512_vnni",
    "AVX512VP2INTERSECT": "avx512_vp2intersect",
    "AVX512VPOPCNTDQ": "avx512_vpopcntdq",
    "AVXVNNI": "avx_vnni",
    "BMI": "bmi1",
    "BMI2": "bmi2",
    "F16C": "f16c",
    "FMA": "fma",
    "FMA4": "fma4",
    "GFNI": "gfni",
    "LZCNT": "abm",
    "MOVBE": "movbe",
    "PCLMUL": "pclmulqdq",
    "POPCNT": "popcnt",
    "SHA": "sha_ni",
    "SSE3": "pni",
    "SSE4A": "sse4a",
    "SSE4_1": "sse4_1",
    "SSE4_2": "sse4_2",
    "SSSE3": "ssse3",
    "TBM": "tbm",
    "VAES": "vaes",
    "VPCLMULQDQ": "vpclmulqdq",
    "XOP": "xop",
}
_ARM = {
    "ARM_FEATURE_ATOMICS": "atomics",
    "ARM_FEATURE_BF16": "bf16",
    "ARM_FEATURE_CRC32": "crc32",
    "ARM_FEATURE_DOTPROD": "asimddp",
    "ARM_FEATURE_FP16_VECTOR_ARITHMETIC": "asimdhp",
    "ARM_FEATURE_MATMUL_INT8": "i8mm",
    "ARM_FEATURE_SVE": "sve",
    "ARM_FEATURE_SVE2": "sve2",
}
_EXTENSIONS: Mapping[str, Mapping[str, str]] = {"x86_64": _X86, "aarch64": _ARM}


@dataclass(frozen=True)
class Processor:
    """A kind of processor.

    Attributes
    ----------
    march
        Its name for a compiler.
    machine, features
        As ``uname -m`` and /proc/cpuinfo name them: what a machine must be and have.
    """

    march: str
    machine: str
    features: tuple[str, ...]

    @property
    def vector_bits(self) -> int:
        """Bits of a vector in compiled loops, for a processor other than this one; 1: none."""
        return 256 if {"avx2", "fma", "f16c"} <= set(self.features) else 1

    def requirements(self) -> str:
        """What the engine checks before it runs anything, as the archive has it."""
        return json.dumps({"machine": self.machine, "features": list(self.features)})


def processor_named(target: str | None) -> Processor:
    """What a compiler may use of ``-march=target``; None: of this machine.

    Raises
    ------
    ContractError
        When the compiler does not know the name.
    """
    if target is None:
        native = _processor("native")
        own = _own_features()
        return Processor("native", native.machine, tuple(f for f in native.features if f in own))
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", target) or target == "native":
        raise ContractError(f"target is {target!r}; it must name processors, as 'x86-64-v3' does")
    return _processor(target)


def _processor(march: str) -> Processor:
    machine = platform.machine()
    names = _EXTENSIONS.get(machine, {})
    features = sorted(names[macro] for macro in _macros(march) if macro in names)
    return Processor(march, machine, tuple(features))


def _macros(march: str) -> list[str]:
    """What a compiler defines for the processors, without its underscores."""
    command = [get_cpp_compiler(), f"-march={march}", "-dM", "-E", "-x", "c++", "/dev/null"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ExportError(f"backend 'aoti' needs a C++ compiler: {error}") from error
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["it failed"])[0]
        raise ContractError(f"target is {march!r}, which {command[0]} does not take: {reason}")
    return re.findall(r"^#define __(\w+?)(?:__)? ", done.stdout, re.MULTILINE)


def _own_features() -> set[str]:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return set(found[1].split()) if found else set()

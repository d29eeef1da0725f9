"""Compiles once, for all methods, the functions by which a library of AOTInductor is called.

AOTInductor writes them into the source of each method, and the source uses a base class that is a
template: both are the same for every method, and take two thirds of the C++ compiler's time.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from torch._inductor import codecache
from torch._inductor.codegen import cpp_wrapper_cpu
from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu
from torch._inductor.cpp_builder import BuildOptionsBase, CppBuilder
from torch._inductor.runtime.cache_dir_utils import cache_dir

from polystate.export.lowering.processor import Processor

_INTERFACE = Path(cpp_wrapper_cpu.__file__).parent / "aoti_runtime" / "interface.cpp"

# The base class of what AOTInductor generates for a method.
_MODEL = "torch::aot_inductor::AOTInductorModel"
_BASE = f"template class {_MODEL}Base<{_MODEL}>;"

# What the source of a method has in the place of the interface: the headers that it uses of those
# that the interface includes.
_IN_METHODS = f"""
#include <iostream>
#include <string>
#include <unordered_map>
#include <vector>
extern {_BASE}
"""


@contextlib.contextmanager
def compiled_once(processor: Processor) -> Iterator[None]:
    """Links libraries with an interface that Inductor's cache keeps, for the length of the block.

    Parameters
    ----------
    processor
        For which the libraries are compiled.
    """

    def write_declarations(wrapper: Any) -> None:
        wrapper.header.splice(_IN_METHODS)

    with (
        mock.patch.object(CppWrapperCpu, "_write_aoti_interface_header", write_declarations),
        mock.patch.object(codecache, "CppBuilder", _linked_with_interface(processor)),
    ):
        yield


def _linked_with_interface(processor: Processor) -> type[CppBuilder]:
    """Makes a builder that adds the interface to the objects of a method when it links them.

    The interface is compiled with the options of the method's wrapper, which comes before.
    """
    wrapper_options: list[BuildOptionsBase] = []

    class LinkedWithInterface(CppBuilder):
        def __init__(
            self,
            name: str,
            sources: str | list[str],
            BuildOption: BuildOptionsBase,  # noqa: N803 (as Inductor names it)
            output_dir: str = "",
        ) -> None:
            if name.endswith(".wrapper") and BuildOption.get_compile_only():
                wrapper_options[:] = [BuildOption]
            elif wrapper_options and isinstance(sources, list):  # objects that become a library
                sources = [*sources, _interface(wrapper_options[0], processor)]
            super().__init__(name, sources, BuildOption, output_dir)

    return LinkedWithInterface


def _interface(options: BuildOptionsBase, processor: Processor) -> str:
    """The object file of the interface, which is compiled where the cache has none."""
    source = f"{_INTERFACE.read_text(encoding='utf-8')}\n{_BASE}\n"
    command = CppBuilder("interface", "interface.cpp", options).get_command_line()
    what = "\0".join((source, command, processor.requirements()))
    folder = Path(cache_dir()) / "polystate"
    kept = folder / f"interface_{hashlib.sha256(what.encode()).hexdigest()}.o"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as own:
            file = Path(own) / "interface.cpp"
            file.write_text(source, encoding="utf-8")
            builder = CppBuilder("interface", str(file), options, own)
            builder.build()
            Path(builder.get_target_file_path()).replace(kept)
    return str(kept)

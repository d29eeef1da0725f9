"""An exported program in words."""

from __future__ import annotations

from collections.abc import Mapping

from polystate.artifact.expressions import Expression, to_text
from polystate.artifact.manifest import Input, Manifest, Method, Symbol
from polystate.export.verification.drawn_calls import Tally
from polystate.export.verification.verify import Verification

# When less than this part of a method's drawn calls show something, they show too little.
_FEW = 0.1


def report(manifest: Manifest, how: Mapping[str, str], verification: Verification | None) -> str:
    """The whole program: each method, its contract and what it does to the state; the state."""
    lines = [
        f"{_count(len(manifest.methods), 'method')} for {manifest.program.backend}, "
        f"over {_count(len(manifest.state), 'state')}"
    ]
    for method in manifest.methods:
        lines += ["", f"{method.name}({', '.join(i.name for i in method.inputs)})"]
        lines += [f"  {line}" for line in contract_lines(method)]
        lines += [f"  traced: {how[method.name]}"]
        for read in method.reads:
            lines.append(f"  reads '{manifest.state[read].name}'")
        for write in method.writes:
            name = manifest.state[write.state].name
            lines.append(f"  writes '{name}' {write.update.replace('_', ' ')}: {write.reason}")
        if not method.atomic:
            lines.append(
                "  not atomic: after a failure inside the engine the session must be reset or "
                "restored"
            )
        if verification is not None:
            lines += [f"  {line}" for line in verified_lines(verification.tallies[method.name])]
    if verification is not None:
        draws = verification.draws
        of = f" of {verification.part}" if verification.part else ""
        lines += ["", f"verified with {draws.count} drawn calls{of} of seed {draws.seed}"]
    if manifest.state:
        lines += ["", "state"]
    for state in manifest.state:
        lines.append(
            f"  {state.name}: {state.dtype} {state.shape}, starts as {state.preview or 'empty'}"
        )
    return "\n".join(lines)


def verified_lines(tally: Tally) -> list[str]:
    """What the drawn calls of a method show, one line each."""
    lines = [
        f"verified: {tally.agreed} of {_count(tally.drawn, 'drawn call')} agree with the module"
    ]
    lines += [f"  {number} left out: {why}" for why, number in sorted(tally.left_out.items())]
    if tally.agreed < _FEW * tally.drawn:
        lines.append(
            "  warning: that is less than a tenth; give valid inputs with Method(draw=...)"
        )
    lines += [f"  warning: no drawn call took the branch {branch}" for branch in tally.untaken]
    return lines


def contract_lines(method: Method) -> list[str]:
    """What a caller of the method must keep to, one line each."""
    symbols = {symbol.name: symbol for symbol in method.symbols}
    lines = [_input_line(tensor, symbols) for tensor in method.inputs]
    lines += [f"{guard.text}{_at(guard.source)}" for guard in method.guards]
    lines += [f"{check.text}{_at(check.source)}, checked inside" for check in method.checks]
    return lines


def _input_line(tensor: Input, symbols: Mapping[str, Symbol]) -> str:
    sizes = ", ".join(_size(size, symbols) for size in tensor.shape)
    line = f"{tensor.name}: {tensor.dtype} [{sizes}]"
    for limits in tensor.values:
        low = "" if limits.min is None else to_text(limits.min)
        high = "" if limits.max is None else to_text(limits.max)
        line += f", values {low}..{high} ({limits.reason})"
    return line + (", written by the call" if tensor.written_from is not None else "")


def _size(size: Expression, symbols: Mapping[str, Symbol]) -> str:
    if isinstance(size, str):
        return f"{size} {symbols[size].min}..{symbols[size].max}"
    return to_text(size)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _at(source: str) -> str:
    return f" ({source})" if source else ""

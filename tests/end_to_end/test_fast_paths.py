"""Modules of PyTorch that compute padding otherwise in inference than in a trace."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import every_backend
from tests.support.exported_models import exported


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def encode(self, x: Tensor, padding: Tensor) -> Tensor:
        encoded = self.encoder(x, src_key_padding_mask=padding)
        attended: Tensor = self.attention(encoded, encoded, encoded, key_padding_mask=padding)[0]
        return attended + encoded

    def plain(self, x: Tensor) -> Tensor:
        return x * 2 if torch.compiler.is_exporting() else x + x


@every_backend
def test_padding_is_computed_as_without_the_fast_path(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(5)
    model = Encoder().eval()
    x, none = torch.randn(2, 4, 8), torch.zeros(2, 4, dtype=torch.bool)
    some = torch.tensor([[False, False, True, True], [False, False, False, True]])
    methods = {"encode": ps.Method("encode", (x, none)), "plain": ps.Method("plain", (x,))}
    program = exported(model, methods, backend)
    session = ps.load(program.save(tmp_path / "artifact"), trust_code=True).session()
    assert torch.backends.mha.get_fastpath_enabled()
    for padding in (none, some):
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            expected = model.encode(x, padding)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)
        torch.testing.assert_close(
            session.run("encode", x, padding)[0], expected, rtol=1e-4, atol=1e-5
        )
    assert "without the fast path of TransformerEncoder;" in program.report()
    assert "torch.compiler.is_exporting() is True" in program.report()

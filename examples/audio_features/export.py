"""Features of speech as it comes: logarithms of mel spectra. Usage: export.py ARTIFACT"""

import math
import sys

import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps

RATE, SIZE, HOP, MELS = 16_000, 400, 160, 40  # samples a second, of a window, of a step; features


def mel_filters(bins: int, mels: int, rate: int) -> Tensor:
    """[bins, mels] triangles on the scale of mels, as torchaudio's ``melscale_fbanks`` has them."""
    highest = 2595 * math.log10(1 + rate / 2 / 700)
    points = 700 * (10 ** (torch.linspace(0, highest, mels + 2) / 2595) - 1)
    slopes = points - torch.linspace(0, rate / 2, bins)[:, None]
    widths = points.diff()
    return torch.minimum(-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]).clamp_min(0)


class AudioFeatures(nn.Module):
    """Features of a stream of samples: logarithms of mel spectra, normalised as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(SIZE))
        self.register_buffer("filters", mel_filters(SIZE // 2 + 1, MELS, RATE))
        self.register_buffer("tail", torch.zeros(SIZE - HOP))
        self.register_buffer("count", torch.tensor(1.0))
        self.register_buffer("mean", torch.zeros(MELS))
        self.register_buffer("squares", torch.ones(MELS))

    def hear(self, chunk: Tensor) -> Tensor:
        """Features [steps, MELS] of the next samples of a stream [steps, HOP]."""
        samples = torch.cat([self.tail, chunk.flatten()])
        self.tail.copy_(samples[-self.tail.shape[0] :])
        spectrum = torch.stft(
            samples, SIZE, HOP, window=self.window, center=False, return_complex=True
        )
        power = spectrum.abs().pow(2).transpose(0, 1)
        features = (power @ self.filters).clamp_min(1e-10).log()
        self._update(features)
        return (features - self.mean) / (self.squares / self.count).sqrt()

    def _update(self, features: Tensor) -> None:
        added = features.shape[0]
        count, difference = self.count + added, features.mean(0) - self.mean
        self.squares += (features - features.mean(0)).square().sum(0)
        self.squares += difference.square() * self.count * added / count
        self.mean += difference * added / count
        self.count.copy_(count)


def program() -> tuple[nn.Module, dict[str, ps.Method]]:
    torch.manual_seed(0)
    steps = ({0: Dim("steps", min=2, max=50)},)
    return AudioFeatures(), {
        "hear": ps.Method("hear", (torch.randn(4, HOP),), dynamic_shapes=steps),
    }


if __name__ == "__main__":
    ps.export(*program()).save(sys.argv[1])

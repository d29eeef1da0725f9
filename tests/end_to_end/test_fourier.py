"""Fourier transforms inside of a method: spectra, spectrograms, a front-end for speech."""

import math

import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend


class Transforms(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.register_buffer("spectrum", torch.zeros(5))

    def spectra(self, x):
        half = torch.fft.rfft(x)
        whole = torch.fft.fft(half, dim=0, norm="ortho")
        self.spectrum.copy_(half[0].abs())
        return (
            torch.fft.irfft(half, 7),
            torch.view_as_real(torch.fft.ifft(whole, n=3, dim=0)),
            torch.view_as_real(torch.fft.fftshift(torch.fft.fftn(x, s=(6, 5)))),
            torch.fft.hfft(whole, 8),
            torch.fft.ihfft(x).imag,
            torch.fft.irfft2(whole),
            torch.fft.rfft2(x.double()).real,
            torch.fft.fftfreq(8),
        )

    def restored(self, x):
        z = torch.stft(x, 16, 4, window=self.window, return_complex=True)
        samples = torch.istft(z / 2, 16, 4, window=self.window, length=x.shape[-1])
        return z.abs().square(), z.angle().cos(), samples


@every_backend
def test_transforms_equal_pytorchs(tmp_path, backend):
    chance = torch.Generator().manual_seed(0)
    x, sound = torch.randn(4, 9, generator=chance), torch.randn(2, 60, generator=chance)
    methods = {
        "spectra": ps.Method("spectra", (x,)),
        "restored": ps.Method(
            "restored", (sound,), dynamic_shapes=({1: Dim("samples", min=40, max=200)},)
        ),
    }
    twins = Twins(Transforms(), methods, tmp_path, backend, draws=ps.Draws(count=6))
    twins.call("spectra", 3 * x)
    for length in (40, 101, 200):
        twins.call("restored", torch.randn(2, length, generator=chance))


def mel_filters(bins, mels, rate):
    """[bins, mels] triangles on the scale of mels, as torchaudio's ``melscale_fbanks`` has them."""
    highest = 2595 * math.log10(1 + rate / 2 / 700)
    points = 700 * (10 ** (torch.linspace(0, highest, mels + 2) / 2595) - 1)
    slopes = points - torch.linspace(0, rate / 2, bins)[:, None]
    widths = points.diff()
    return torch.minimum(-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]).clamp_min(0)


class FrontEnd(nn.Module):
    """Features of a stream of samples: logarithms of mel spectra, normalised as they come."""

    size, hop, mels = 400, 160, 40

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(self.size))
        self.register_buffer("filters", mel_filters(self.size // 2 + 1, self.mels, 16_000))
        self.register_buffer("tail", torch.zeros(self.size - self.hop))
        self.register_buffer("count", torch.tensor(1.0))
        self.register_buffer("mean", torch.zeros(self.mels))
        self.register_buffer("squares", torch.ones(self.mels))

    def forward(self, chunk):
        """[steps, hop] samples to [steps, mels] features."""
        samples = torch.cat([self.tail, chunk.flatten()])
        self.tail.copy_(samples[-self.tail.shape[0] :])
        spectrum = torch.stft(
            samples, self.size, self.hop, window=self.window, center=False, return_complex=True
        )
        power = spectrum.abs().pow(2).transpose(0, 1)
        features = (power @ self.filters).clamp_min(1e-10).log()
        self._update(features)
        return (features - self.mean) / (self.squares / self.count).sqrt()

    def _update(self, features):
        added = features.shape[0]
        count, difference = self.count + added, features.mean(0) - self.mean
        self.squares += (features - features.mean(0)).square().sum(0)
        self.squares += difference.square() * self.count * added / count
        self.mean += difference * added / count
        self.count.copy_(count)


@every_backend
def test_a_front_end_for_speech_reads_a_stream(tmp_path, backend):
    chance = torch.Generator().manual_seed(0)
    methods = {
        "forward": ps.Method(
            "forward",
            (torch.randn(4, FrontEnd.hop, generator=chance),),
            dynamic_shapes=({0: Dim("steps", min=2, max=50)},),
        )
    }
    twins = Twins(FrontEnd(), methods, tmp_path, backend, draws=ps.Draws(count=6))
    for steps in (2, 50, 7):
        twins.call("forward", torch.randn(steps, FrontEnd.hop, generator=chance))

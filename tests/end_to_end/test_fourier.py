"""Fourier transforms inside of a method: spectra, spectrograms, a front-end for speech."""

import itertools
import math

import pytest
import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend
from tests.support.examples import example


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


FRONT_END = example("audio_features")
RATE, SIZE, HOP, MELS = 16_000, 400, 160, 40


def spectrogram(samples: torch.Tensor) -> torch.Tensor:
    """torchaudio's ``Spectrogram(SIZE, hop_length=HOP, center=False)``, by its sums."""
    places, bins = torch.arange(SIZE).double(), torch.arange(SIZE // 2 + 1).double()
    turns = 2 * math.pi * places / SIZE
    frames = samples.unfold(0, SIZE, HOP) * (0.5 - 0.5 * turns.cos())
    angles = turns[:, None] * bins
    return (frames @ angles.cos()).square() + (frames @ angles.sin()).square()


def mel_filter(number: int) -> torch.Tensor:
    """A column of torchaudio's ``melscale_fbanks(SIZE // 2 + 1, 0, RATE / 2, MELS, RATE)``."""
    step = 2595 * math.log10(1 + RATE / 2 / 700) / (MELS + 1)
    left, top, right = (700 * (10 ** (i * step / 2595) - 1) for i in range(number, number + 3))
    frequencies = torch.arange(SIZE // 2 + 1).double() * RATE / SIZE
    rising = ((frequencies - left) / (top - left)).clamp(min=0)
    falling = ((right - frequencies) / (right - top)).clamp(min=0)
    return torch.where(frequencies < top, rising, falling)


def normalised(features: torch.Tensor, heard: int) -> torch.Tensor:
    """By all that were heard, and a first one of 0 whose variance counts as 1."""
    all_heard = torch.cat([torch.zeros(1, MELS).double(), features[:heard]])
    mean = all_heard.mean(0)
    variance = (1 + (all_heard - mean).square().sum(0)) / len(all_heard)
    return (features - mean) / variance.sqrt()


@pytest.mark.parametrize(
    "backend", ["xnnpack", "aoti", pytest.param("portable", marks=pytest.mark.exhaustive)]
)
def test_a_front_end_for_speech_reads_a_stream_as_torchaudio_defines_its_features(
    tmp_path, backend
):
    chance = torch.Generator().manual_seed(0)
    stream = torch.randn(86, HOP, generator=chance)
    samples = torch.cat([torch.zeros(SIZE - HOP), stream.flatten()]).double()
    filters = torch.stack([mel_filter(number) for number in range(MELS)], 1)
    features = (spectrogram(samples) @ filters).clamp(min=1e-10).log()
    twins = Twins(*FRONT_END.program(), tmp_path, backend, draws=ps.Draws(count=6))
    for first, last in itertools.pairwise([0, 2, 52, 59, 86]):
        (found,) = twins.call("hear", stream[first:last])
        exact = normalised(features, last)[first:last]
        torch.testing.assert_close(found.double(), exact, rtol=1e-4, atol=1e-4)

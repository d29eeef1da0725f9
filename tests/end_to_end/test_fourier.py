"""Fourier transforms inside of a method: spectra, spectrograms, a front-end for speech."""

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


@every_backend
def test_a_front_end_for_speech_reads_a_stream(tmp_path, backend):
    chance = torch.Generator().manual_seed(0)
    twins = Twins(*FRONT_END.program(), tmp_path, backend, draws=ps.Draws(count=6))
    for steps in (2, 50, 7):
        twins.call("hear", torch.randn(steps, FRONT_END.HOP, generator=chance))

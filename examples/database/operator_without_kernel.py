"""An operator without a kernel: quantized tensors.

An engine computes with operators that it has. Quantization by arithmetic is written with these.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize()


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return (x / 0.1).round().clamp(-128, 127) * 0.1


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """quantize"""
REFUSED_BY = ("portable", "xnnpack", "aoti")

"""What an export computes by parts of complex numbers is what PyTorch computes.

PyTorch's own samples, without an export: the functions are called as a trace calls them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from polystate.export.tracing.complex_numbers import ComplexAsParts
from polystate.export.tracing.complex_parts import Complex
from tests.support.operator_entries import operator_entries

MOVING = """
    argwhere atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors broadcast_to cat chunk
    clone column_stack contiguous diag diag_embed diagflat diagonal diagonal_scatter diff dsplit
    dstack expand expand_as flatten flip fliplr flipud gather hsplit hstack index_add index_copy
    index_fill index_put index_select masked_fill masked_scatter masked_select meshgrid movedim
    narrow nn.functional.pad nonzero permute ravel repeat repeat_interleave reshape reshape_as roll
    rot90 scatter scatter_add select split split_with_sizes squeeze stack sum_to_size T t H mT mH
    take take_along_dim tensor_split tile transpose tril triu unbind unflatten unfold unsqueeze view
    view_as vsplit vstack where
"""
ARITHMETIC = """
    add addbmm addcdiv addcmul addmm addmv addr baddbmm bmm conj conj_physical cross div dot einsum
    float_power inner kron lerp linalg.multi_dot linalg.vecdot matmul mm mul mv neg
    nn.functional.conv1d nn.functional.conv2d nn.functional.conv_transpose1d nn.functional.linear
    outer positive pow reciprocal rsub square sub tensordot true_divide vdot
"""
FUNCTIONS = """
    abs acos acosh angle asin asinh atan atanh cos cosh exp exp2 expm1 imag log log10 log1p log2
    nn.functional.silu nn.functional.tanhshrink real rsqrt sgn sigmoid sin sinc sinh sqrt tan tanh
"""
REDUCTIONS = """
    all any count_nonzero cumprod cumsum dist eq isclose isfinite isinf isnan isreal linalg.norm
    linalg.vector_norm logical_and logical_not logical_or logical_xor mean ne prod std std_mean sum
    trace var var_mean
"""
TRANSFORMS = """
    fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.hfft2 fft.hfftn fft.ifft fft.ifft2 fft.ifftn
    fft.ifftshift fft.irfft fft.irfft2 fft.irfftn istft stft
"""
REAL_TRANSFORMS = "fft.ihfft fft.ihfft2 fft.ihfftn fft.rfft fft.rfft2 fft.rfftn stft"
# A sample of each of these norms needs singular values.
UNKNOWN = ("nuclear", "norm 'nuc'", "norm 2", "norm -2")


def in_parts(value: Any) -> Any:
    return pytree.tree_map(
        lambda x: Complex.of(x) if isinstance(x, Tensor) and x.is_complex() else x, value
    )


def whole(value: Any) -> Any:
    return pytree.tree_map(
        lambda x: torch.complex(x.real, x.imag) if isinstance(x, Complex) else x, value
    )


def compare_samples(names: str, dtype: torch.dtype, most: int = 8) -> None:
    compared = set()
    for info in operator_entries():
        if info.name not in names.split() or dtype not in info.dtypes:
            continue
        torch.manual_seed(0)
        for sample in itertools.islice(info.sample_inputs("cpu", dtype), most):
            args, kwargs = (sample.input, *sample.args), sample.kwargs
            given = in_parts((args, dict(kwargs)))
            with torch.no_grad():
                expected = info.op(*args, **kwargs)
                try:
                    with ComplexAsParts():
                        found = info.op(*given[0], **given[1])
                except TypeError as error:
                    if any(words in str(error) for words in UNKNOWN):
                        continue
                    raise
            torch.testing.assert_close(
                whole(found), expected, rtol=1e-4, atol=1e-4, equal_nan=True, msg=info.name
            )
            compared.add(info.name)
    assert compared == set(names.split())


@pytest.mark.parametrize("names", [MOVING, ARITHMETIC, FUNCTIONS, REDUCTIONS, TRANSFORMS])
def test_functions_of_complex_numbers(names: str) -> None:
    compare_samples(names, torch.complex64)


def test_transforms_of_real_numbers() -> None:
    compare_samples(REAL_TRANSFORMS, torch.float64)


def of(*numbers: complex) -> Tensor:
    return torch.tensor(numbers, dtype=torch.complex64)


def test_odd_numbers() -> None:
    z = of(0, -0.0, 1e30, 1e-30, -1e30j, 3 + 1e-4j, -4 - 1e-20j, 1e25 + 1e25j, 80 + 1j, 60j, -50.0)
    for function in (torch.abs, torch.sqrt, torch.tanh, torch.log, torch.sgn, torch.reciprocal):
        expected = function(z)
        with ComplexAsParts():
            found = function(in_parts(z))
        torch.testing.assert_close(whole(found), expected, rtol=1e-5, atol=0, equal_nan=True)


def test_a_change_of_what_others_gave_is_not_a_change_of_theirs() -> None:
    x, y = torch.ones(3), torch.zeros(3)
    with ComplexAsParts():
        z = torch.complex(x, y)
        z.mul_(2j)
        z[0] = 5
        z += 1
    assert torch.equal(whole(z), of(6, 1 + 2j, 1 + 2j))
    assert torch.equal(x, torch.ones(3))
    assert torch.equal(y, torch.zeros(3))


def test_a_change_of_a_view_is_one_of_what_it_views() -> None:
    pairs = torch.zeros(3, 2)
    with ComplexAsParts():
        torch.view_as_complex(pairs)[1:].add_(2 - 1j)
    assert torch.equal(pairs, torch.tensor([[0.0, 0.0], [2.0, -1.0], [2.0, -1.0]]))


def test_what_makes_complex_numbers() -> None:
    x = torch.randn(3, generator=torch.Generator().manual_seed(0))

    def made() -> list[Any]:
        return [
            x * 1j,
            2j - x,
            torch.exp(1j * x),
            x.to(torch.complex64),
            torch.tensor([1 + 2j, 3]),
            torch.zeros(2, dtype=torch.complex128),
            torch.full((2,), 1 - 1j),
            torch.ones_like(x, dtype=torch.complex64),
        ]

    with ComplexAsParts():
        found = made()
    assert all(isinstance(each, Complex) for each in found)
    torch.testing.assert_close([whole(each) for each in found], made())


def test_a_number_has_the_precision_of_what_it_is_computed_with() -> None:
    x = torch.tensor([0.1, 3.0], dtype=torch.float64)

    def computed(z: Any) -> list[Any]:
        filled, of_parts = z * 1, z * 1
        filled.fill_(0.1j)
        of_parts.real = 0.1
        return [
            *(0.1j * x, torch.mul(0.1j, x), 0.1j - x, x / 0.1j, torch.mul(x, other=0.1j)),
            *(0.1 - z, 0.1j / z, 0.1 / z, z + 0.1j, torch.sub(z, 0.1j, alpha=3), filled, of_parts),
        ]

    expected = computed(torch.complex(x, 1 - x))
    with ComplexAsParts():
        found = computed(torch.complex(x, 1 - x))
    torch.testing.assert_close([whole(each) for each in found], expected, rtol=1e-12, atol=1e-12)
    with ComplexAsParts():
        assert (0.1j * torch.ones(2)).dtype == torch.complex64


def test_arguments_by_their_names() -> None:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([0.5, -1.0])

    def made() -> list[Any]:
        z = torch.complex(real=x, imag=y)
        return [
            *(z, torch.polar(abs=x, angle=y), torch.complex(x, imag=y[:1])),
            torch.view_as_complex(input=torch.stack([x, y], -1)),
            *(torch.fft.fft(input=x), torch.fft.fft(input=z, dim=0), torch.fft.fftshift(input=z)),
            *(torch.full_like(z, fill_value=2), torch.where(x > 1, input=z, other=y)),
        ]

    with ComplexAsParts():
        found = made()
    torch.testing.assert_close([whole(each) for each in found], made())


def compare_changes(changed: Callable[[Tensor, Tensor], list[Any]], x: Tensor, y: Tensor) -> None:
    """Compare what a function that changes its arguments gives by parts and without."""
    expected = changed(x.clone(), y.clone())
    with ComplexAsParts():
        found = changed(x.clone(), y.clone())
    torch.testing.assert_close([whole(each) for each in found], expected)


def test_views_of_what_is_made_of_real_tensors_are_views() -> None:
    def changed(x: Tensor, y: Tensor) -> list[Any]:
        z = torch.complex(x, y)
        x.add_(10)  # the number has been made
        z[0].mul_(2)
        z.T.real.add_(1)
        w = x.to(torch.complex64)
        w.real.add_(1)
        wide = torch.complex(x, y[0])
        wide[0, 0].mul_(3j)
        sums = x + 1j * y[0]
        sums[1].mul_(2)
        conjugate = z.conj()
        conjugate[1].mul_(1j)
        z.mH[0].add_(5j)
        return [z, w, wide, sums, x, y]

    compare_changes(
        changed, torch.arange(4.0).reshape(2, 2), torch.tensor([[1.0, -1.0], [0.5, 2.0]])
    )


def test_views_follow_what_they_are_views_of() -> None:
    def changed(x: Tensor, y: Tensor) -> list[Any]:
        z = torch.complex(x, y)
        conjugate, part = z.conj(), z[1:]
        z.mul_(2j)
        conjugate.imag.add_(1)
        w = z * 1j
        row = torch.view_as_real(w[0])
        row.mul_(3)
        row[0] = 7
        part.mul_(1 + 1j)
        return [conjugate * 1, conjugate.real, conjugate.imag * 1, w, z, part]

    compare_changes(
        changed, torch.arange(6.0).reshape(2, 3), torch.linspace(-1, 1, 6).reshape(2, 3)
    )


def test_other_shapes_in_place_are_views() -> None:
    def changed(x: Tensor, y: Tensor) -> list[Any]:
        z = torch.complex(x, y)
        row = z[0]
        z.t_()
        z.mul_(2j)
        wide, conjugate = z.clone(), z.clone().conj()
        wide.unsqueeze_(0).transpose_(0, 2).squeeze_(-1).requires_grad_(False)
        conjugate.swapaxes_(0, 1)[0] = 1j
        return [row, z, wide, conjugate * 1]

    compare_changes(
        changed, torch.arange(9.0).reshape(3, 3), torch.linspace(-1, 1, 9).reshape(3, 3)
    )


def test_complex_arguments_beside_the_first() -> None:
    x, z = torch.tensor([1.0, -2.0, 3.0]), of(1j, 2 - 1j, 3)

    def made(z: Any) -> list[Any]:
        return [
            *(z.where(x > 0, 2 * z), x.where(x > 0, z), torch.where(x > 0, z, 1j)),
            *(torch.diff(z, prepend=2j * z[:1]), z.diff(2, append=z[1:]), torch.diff(z, n=0)),
            *(z.repeat_interleave(torch.tensor([2, 0, 1])), z.view(1, 3).expand_as(z.expand(2, 3))),
        ]

    expected = made(z)
    with ComplexAsParts():
        found = made(in_parts(z))
    torch.testing.assert_close([whole(each) for each in found], expected)


def test_what_is_asked_of_complex_numbers() -> None:
    def asked(z: Any) -> list[Any]:
        return [
            *(hasattr(z, "cov"), hasattr(z, "shape"), z.is_contiguous(), z.stride(), z.stride(0)),
            *(z.ndimension(), z.nelement(), z.is_cuda, z.new_zeros(size=(2, 3)).shape),
            *(z.new_zeros(4).shape, z.new_ones((4, 1)).shape),
        ]

    x, y = torch.randn(2, 3), torch.randn(2, 3)
    for view in (lambda z: z, lambda z: z.T):
        expected = asked(view(torch.complex(x, y)))
        with ComplexAsParts():
            found = asked(view(torch.complex(x, y)))
            of_pairs = asked(torch.view_as_complex(torch.stack([x, y], -1)))
        expected[0] = False  # an export has not learned it
        assert found == expected
    assert of_pairs[1:] == asked(torch.complex(x, y))[1:]


def test_what_has_not_been_learned_is_no_attribute() -> None:
    z = in_parts(of(1, 2j))
    assert getattr(z, "cov", None) is None
    with pytest.raises(TypeError, match="has not learned 'cov' of them"):
        z.cov()

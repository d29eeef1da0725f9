"""Attention means what PyTorch's does over the same keys, and the runtime computes the same."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
import polystate.ops
from polystate.errors import ContractError
from polystate.export.packing import packed

ops = torch.ops.polystate

KV_HEADS, HEADS, HEAD_DIM, VALUE_DIM, PAGE = 2, 4, 8, 6, 4
SCALE = 0.3


@dataclass
class Cache:
    """Pools of 12 pages, and the tables of 3 rows of 4 pages each."""

    key: Tensor
    value: Tensor
    table: Tensor

    @staticmethod
    def random(dtype: torch.dtype = torch.float32) -> Cache:
        torch.manual_seed(0)
        return Cache(
            torch.randn(12, KV_HEADS, HEAD_DIM, PAGE).to(dtype),
            torch.randn(12, KV_HEADS, PAGE, VALUE_DIM).to(dtype),
            torch.randperm(12).reshape(3, 4),
        )

    def gathered(self, row: int, length: int) -> tuple[Tensor, Tensor]:
        """Keys and values [kv_heads, length, ...] of a row, position by position, in float32."""
        places = [divmod(position, PAGE) for position in range(length)]
        keys = [self.key[self.table[row, page], :, :, slot] for page, slot in places]
        values = [self.value[self.table[row, page], :, slot] for page, slot in places]
        return torch.stack(keys, 1).float(), torch.stack(values, 1).float()


def reference(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float = SCALE
) -> Tensor:
    """PyTorch's attention of [tokens, heads, ...] to [kv_heads, keys, ...], added to `mask`."""
    result = nn.functional.scaled_dot_product_attention(
        query.transpose(0, 1), key, value, attn_mask=mask, scale=scale, enable_gqa=True
    )
    return result.transpose(0, 1)


def mask_of(seen: Tensor) -> Tensor:
    return torch.zeros(seen.shape).masked_fill(~seen, -torch.inf)


def new_tokens(rows: int, tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    return (
        torch.randn(rows, tokens, HEADS, HEAD_DIM),
        torch.randn(rows, tokens, KV_HEADS, HEAD_DIM),
        torch.randn(rows, tokens, KV_HEADS, VALUE_DIM),
    )


of_each_type = pytest.mark.parametrize("dtype", [torch.float32, torch.float16])


@dataclass(frozen=True)
class Step:
    """Tokens of the 3 rows of a :class:`Cache`, in any order.

    Row 0 has a chunk of a prompt from its start on, row 1 the last position, row 2 a chunk.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    positions: Tensor
    rows: Tensor

    @staticmethod
    def shuffled(order: Tensor) -> Step:
        positions = torch.tensor([0, 1, 2, 3, 4, 5, 15, 6, 7, 8])
        rows = torch.tensor([0, 0, 0, 0, 0, 0, 1, 2, 2, 2])
        torch.manual_seed(1)
        query, key, value = (x[0] for x in new_tokens(1, 10))
        return Step(*(x[order] for x in (query, key, value, positions, rows)))


def orders() -> list[Tensor]:
    torch.manual_seed(2)
    return [torch.arange(10), *(torch.randperm(10) for _ in range(3))]


@of_each_type
@pytest.mark.parametrize("window", [0, 1, 3, 100])
def test_paged_attention_is_pytorchs_over_the_gathered_cache(
    window: int, dtype: torch.dtype
) -> None:
    for order in orders():
        cache, step = Cache.random(dtype), Step.shuffled(order)
        bias = torch.randn(1, HEADS, 10, 16)
        result = ops.paged_attention(
            *(step.query, step.key, step.value, cache.key, cache.value, cache.table),
            *(step.positions, step.rows, bias, None, SCALE, 0, window),
        )
        for token, (own, row) in enumerate(zip(step.positions, step.rows, strict=True)):
            keys, values = cache.gathered(int(row), int(own) + 1)
            assert torch.equal(keys[:, own], step.key[token].to(dtype).float())
            assert torch.equal(values[:, own], step.value[token].to(dtype).float())
            seen = torch.arange(own + 1) > own - (window or 100)
            mask = mask_of(seen[None]) + bias[0, :, token : token + 1, : own + 1]
            expected = reference(step.query[token : token + 1], keys, values, mask)
            torch.testing.assert_close(result[token], expected[0])


@of_each_type
def test_pages_before_a_window_are_not_read(dtype: torch.dtype) -> None:
    results = []
    for stale in (False, True):
        cache, step = Cache.random(dtype), Step.shuffled(torch.arange(10))
        rows = torch.where(step.rows == 0, 2, step.rows)  # rows 1 and 2, from positions 15 and 6 on
        chosen = step.positions >= 6
        if stale:
            unread = cache.table[0]
            cache.key[unread], cache.value[unread] = torch.nan, torch.nan
            cache.table[1, :3] = unread[:3]
            cache.table[2, :1] = unread[3]
        results.append(
            ops.paged_attention(
                *(x[chosen] for x in (step.query, step.key, step.value)),
                *(cache.key, cache.value, cache.table, step.positions[chosen], rows[chosen]),
                *(None, None, SCALE, 0, 3),
            )
        )
    assert torch.equal(*results)


@of_each_type
def test_cross_attention_is_pytorchs_over_the_gathered_cache(dtype: torch.dtype) -> None:
    lengths = torch.tensor([1, 16, 7])
    for order in orders():
        cache, step = Cache.random(dtype), Step.shuffled(order)
        bias = torch.randn(1, 1, 10, 16)
        result = ops.cross_attention(
            *(step.query, cache.key, cache.value, cache.table, lengths, step.rows, bias, SCALE, 0)
        )
        for token, row in enumerate(step.rows):
            length = int(lengths[row])
            keys, values = cache.gathered(int(row), length)
            mask = bias[0, :, token : token + 1, :length]
            expected = reference(step.query[token : token + 1], keys, values, mask)
            torch.testing.assert_close(result[token], expected[0])


def test_rows_that_share_pages_read_what_one_of_them_writes_in_the_same_step() -> None:
    cache = Cache.random()
    cache.table[1, :2] = cache.table[0, :2]  # two full pages, the second written by this step
    query, key, value = (x[0] for x in new_tokens(1, 5))
    positions, rows = torch.tensor([8, 4, 5, 6, 7]), torch.tensor([1, 0, 0, 0, 0])
    result = ops.paged_attention(
        *(query, key, value, cache.key, cache.value, cache.table, positions, rows),
        *(None, None, SCALE, 0, 0),
    )
    keys, values = cache.gathered(1, 9)
    assert torch.equal(keys[:, 4:8], key[1:].transpose(0, 1))
    expected = reference(query[:1], keys, values, torch.zeros(1, 9))
    torch.testing.assert_close(result[:1], expected)


@pytest.mark.parametrize(("causal", "window"), [*itertools.product([False, True], [0, 2])])
def test_dense_attention_is_pytorchs(causal: bool, window: int) -> None:
    torch.manual_seed(0)
    query, _, _ = new_tokens(2, 3)
    _, key, value = new_tokens(2, 5)
    lengths = torch.tensor([5, 4])
    result = ops.attention(query, key, value, lengths, None, None, SCALE, 0, window, causal)
    own, column = torch.arange(2, 5)[:, None], torch.arange(5)
    seen = (column <= own) if causal else torch.full((3, 5), True)
    if window:
        seen = seen & ((own - column).abs() < window + (not causal))
    for row, length in enumerate(lengths.tolist()):
        mask = mask_of(seen & (column < length))
        keys, values = key[row].transpose(0, 1), value[row].transpose(0, 1)
        torch.testing.assert_close(result[row], reference(query[row], keys, values, mask))


def test_a_softcap_and_sinks_change_the_softmax() -> None:
    torch.manual_seed(0)
    query, _, _ = new_tokens(1, 3)
    _, key, value = new_tokens(1, 5)
    sinks = torch.randn(HEADS)
    result = ops.attention(query, key, value, None, None, sinks, SCALE, 2.0, 0, False)
    for head in range(HEADS):
        scores = SCALE * query[0, :, head] @ key[0, :, head // 2].T
        scores = 2 * torch.tanh(scores / 2)
        weights = torch.cat([scores, sinks[head].expand(3, 1)], 1).softmax(-1)[:, :5]
        torch.testing.assert_close(result[0, :, head], weights @ value[0, :, head // 2])


def test_tokens_that_see_nothing_give_zeros() -> None:
    query, _, _ = new_tokens(2, 4)
    _, key, value = new_tokens(2, 2)
    result = ops.attention(query, key, value, torch.tensor([0, 2]), None, None, 1, 0, 0, True)
    assert not result[0].any()
    assert not result[1, :2].any()
    assert result[1, 2:].all()
    nothing = ops.attention(query, key[:, :0], value[:, :0], None, None, None, 1, 0, 0, False)
    assert not nothing.any()
    cache, lengths, rows = Cache.random(), torch.tensor([0, 3, 1]), torch.tensor([0, 1, 0, 2])
    result = ops.cross_attention(
        query[0], cache.key, cache.value, cache.table, lengths, rows, None, 1, 0
    )
    assert not result[rows == 0].any()
    assert result[rows > 0].all()


def test_write_pages_writes_what_is_not_padding() -> None:
    cache = Cache.random()
    before = Cache.random()
    _, key, value = new_tokens(3, 6)
    lengths = torch.tensor([6, 0, 5])
    result = ops.write_pages(key, value, cache.key, cache.value, cache.table, lengths)
    assert torch.equal(result, lengths)
    for row, length in enumerate(lengths.tolist()):
        keys, values = cache.gathered(row, 16)
        old_keys, old_values = before.gathered(row, 16)
        assert torch.equal(keys[:, :length], key[row, :length].transpose(0, 1))
        assert torch.equal(values[:, :length], value[row, :length].transpose(0, 1))
        assert torch.equal(keys[:, length:], old_keys[:, length:])
        assert torch.equal(values[:, length:], old_values[:, length:])


def test_what_is_finite_stays_so_in_pages_of_float16() -> None:
    cache = Cache.random(torch.float16)
    _, key, value = new_tokens(3, 6)
    key[0, 0, 0, :3] = torch.tensor([1e9, -torch.inf, torch.nan])
    lengths = torch.tensor([1, 0, 0])
    ops.write_pages(key, value, cache.key, cache.value, cache.table, lengths)
    written, _ = cache.gathered(0, 1)
    assert written[0, 0, :2].tolist() == [65504, -65504]
    assert written[0, 0, 2].isnan()


@of_each_type
def test_copy_pages_copies_pages(dtype: torch.dtype) -> None:
    cache, before = Cache.random(dtype), Cache.random(dtype)
    target = torch.tensor([3, 1])
    assert torch.equal(ops.copy_pages(cache.key, cache.value, torch.tensor([0, 0]), target), target)
    for page in range(12):
        assert torch.equal(cache.key[page], before.key[0 if page in (1, 3) else page])
        assert torch.equal(cache.value[page], before.value[0 if page in (1, 3) else page])


def test_what_does_not_fit_is_refused() -> None:
    cache, before = Cache.random(), Cache.random()
    query, key, value = new_tokens(3, 2)
    pools = (cache.key, cache.value)
    with pytest.raises(ValueError, match="lengths are not between 0 and 16"):
        ops.cross_attention(
            *(query[0], *pools, cache.table, torch.tensor([1, 17, 1]), torch.tensor([0, 0])),
            *(None, SCALE, 0),
        )
    with pytest.raises(ValueError, match="rows are not between 0 and 2"):
        ops.cross_attention(
            *(query[0], *pools, cache.table, torch.tensor([1, 1, 1]), torch.tensor([0, 3])),
            *(None, SCALE, 0),
        )
    with pytest.raises(ValueError, match="a page is not among the 12"):
        ops.write_pages(key, value, *pools, cache.table + 1, torch.tensor([1, 1, 1]))
    with pytest.raises(ContractError, match="page 2 is both a source and a target"):
        ops.copy_pages(*pools, torch.tensor([1, 2]), torch.tensor([2, 3]))
    with pytest.raises(ContractError, match="page 3 is the target of pages 1 and 2"):
        ops.copy_pages(*pools, torch.tensor([1, 2]), torch.tensor([3, 3]))
    tokens = (query[0], key[0], value[0], *pools, cache.table, torch.arange(2), torch.arange(2))
    for shape in ([1, HEADS, 4, 16], [1, HEADS, 1, 16], [2, 1, 2, 16], [1, 3, 2, 16]):
        bias = torch.randn(shape)
        with pytest.raises(ValueError, match=r"it must be \[1 or 1, 1 or 4, 2, 16\]"):
            ops.paged_attention(*tokens, bias, None, SCALE, 0, 0)
        with pytest.raises(ValueError, match=r"it must be \[1 or 1, 1 or 4, 2, 16\]"):
            lengths, rows = torch.tensor([1, 1, 1]), torch.arange(2)
            ops.cross_attention(query[0], *pools, cache.table, lengths, rows, bias, SCALE, 0)
    with pytest.raises(ValueError, match=r"sinks has shape \[1\]; it must be \[4\]"):
        ops.paged_attention(*tokens, None, torch.ones(1), SCALE, 0, 0)
    with pytest.raises(ValueError, match=r"it must be \[1 or 3, 1 or 4, 2, 2\]"):
        ops.attention(query, key, value, None, bias, None, SCALE, 0, 0, False)
    assert torch.equal(cache.key, before.key)
    assert torch.equal(cache.value, before.value)


# Row 3 has the first page of row 0.
MISPLACED = [
    ([0, 1, -1], [0, 1, 2], "token 2 at position -1, which is not between 0 and 15"),
    ([0, 16, 0], [0, 1, 2], "token 1 at position 16, which is not between 0 and 15"),
    ([0, 1, 2], [0, 4, 2], "token 1 of row 4, which is not between 0 and 3"),
    ([0, 1, 2], [0, 1, -1], "token 2 of row -1, which is not between 0 and 3"),
    ([5, 6, 5], [1, 1, 1], "tokens 0 and 2 both at slot 1 of page"),
    ([4, 2, 2], [1, 3, 0], "tokens 1 and 2 both at slot 2 of page"),
]


@pytest.mark.parametrize(("positions", "rows", "message"), MISPLACED)
def test_every_token_has_a_place_of_its_own(
    positions: list[int], rows: list[int], message: str
) -> None:
    cache, before = Cache.random(), Cache.random()
    table = torch.cat([cache.table, cache.table[:1]])
    query, key, value = (x[0] for x in new_tokens(1, 3))
    with pytest.raises(ContractError, match=message):
        ops.paged_attention(
            *(query, key, value, cache.key, cache.value, table),
            *(torch.tensor(positions), torch.tensor(rows), None, None, SCALE, 0, 0),
        )
    assert torch.equal(cache.key, before.key)
    assert torch.equal(cache.value, before.value)


class Translator(nn.Module):
    """An encoder, a decoder with both attentions, and copies of pages."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        torch.manual_seed(0)
        for name in ("own", "memory"):
            keys = torch.zeros(9, KV_HEADS, HEAD_DIM, PAGE, dtype=dtype)
            self.register_buffer(f"{name}_keys", keys)
            self.register_buffer(f"{name}_values", keys.transpose(2, 3).contiguous())
        self.register_buffer("sinks", torch.randn(HEADS))
        self.qkv = nn.Linear(16, 8 * HEAD_DIM)
        self.out = nn.Linear(HEADS * HEAD_DIM, 16)
        self.requires_grad_(False)

    def reset(self) -> None:
        for pool in (self.own_keys, self.own_values, self.memory_keys, self.memory_values):
            pool.zero_()

    def _heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        heads = self.qkv(x).unflatten(-1, (8, HEAD_DIM))
        return heads[:, :, :4], heads[:, :, 4:6], heads[:, :, 6:]

    def encode(self, x: Tensor, table: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        query, key, value = self._heads(x)
        y = ops.attention(query, key, value, lengths, None, self.sinks, SCALE, 5.0, 2, False)
        pools = (self.memory_keys, self.memory_values)
        return self.out(y.flatten(2)), ops.write_pages(key, value, *pools, table, lengths)

    def decode(
        self,
        x: Tensor,
        positions: Tensor,
        rows: Tensor,
        table: Tensor,
        memory: Tensor,
        lengths: Tensor,
    ) -> Tensor:
        query, key, value = (states[0] for states in self._heads(x[None]))
        y = ops.paged_attention(
            *(query, key, value, self.own_keys, self.own_values, table, positions, rows),
            *(None, self.sinks, SCALE, 0, 3),
        )
        x = x + self.out(y.flatten(1))
        pools = (self.memory_keys, self.memory_values)
        query = self._heads(x[None])[0][0]
        y = ops.cross_attention(query, *pools, memory, lengths, rows, None, SCALE, 0.0)
        return x + self.out(y.flatten(1))

    def fork(self, source: Tensor, target: Tensor) -> Tensor:
        return ops.copy_pages(self.own_keys, self.own_values, source, target)


def exported(model: nn.Module, backend: str) -> ps.Program:
    rows, copies = Dim("rows", max=4), Dim("copies", max=4)
    table, lengths = torch.tensor([[1, 2], [3, 4]]), torch.tensor([5, 3])
    step = (torch.tensor([2, 3, 0, 4, 1]), torch.tensor([0, 0, 1, 0, 1]))
    by_row, by_page = {0: rows}, {0: rows, 1: Dim("pages", max=3)}
    by_token = {0: Dim("tokens", max=8)}
    memory_pages = {0: rows, 1: Dim("memory_pages", max=3)}
    return ps.export(
        model,
        {
            "encode": ps.Method(
                "encode",
                (torch.randn(2, 5, 16), table, lengths),
                dynamic_shapes=({0: rows, 1: Dim("length", max=8)}, by_page, by_row),
            ),
            "decode": ps.Method(
                "decode",
                (torch.randn(5, 16), *step, table, table, lengths),
                dynamic_shapes=(by_token, by_token, by_token, by_page, memory_pages, by_row),
            ),
            "fork": ps.Method(
                "fork",
                (torch.tensor([1, 2]), torch.tensor([5, 6])),
                dynamic_shapes=({0: copies}, {0: copies}),
            ),
        },
        backend=backend,
    )


@dataclass(frozen=True)
class Artifact:
    """A model, and what it is exported as."""

    model: Translator
    backend: str
    dtype: torch.dtype
    program: ps.Program
    loaded: ps.Model


@pytest.fixture(
    scope="module",
    params=[("xnnpack", torch.float32), ("portable", torch.float16), ("aoti", torch.float32)],
    ids=lambda given: given[0],
)
def artifact(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    backend, dtype = request.param
    model = Translator(dtype).eval()
    with packed(model):
        program = exported(model, backend)
    out = program.save(tmp_path_factory.mktemp("attention") / "artifact")
    return Artifact(model, backend, dtype, program, ps.load(out, trust_code=True))


def test_the_methods_write_pages_in_place(artifact: Artifact) -> None:
    if artifact.backend == "aoti":
        pytest.skip("AOTInductor does not say where it computes")
    for method, writer in (("encode", "write_pages"), ("decode", "paged_attention")):
        writes = artifact.program.methods[method].writes
        assert [write.update for write in writes] == ["in_place"] * 2
        assert all(write.reason == f"'{writer}' changes it in place" for write in writes)


def test_the_runtime_computes_what_the_module_does(artifact: Artifact) -> None:
    # What other kernels compute may be rounded to the other side.
    is_exact = artifact.dtype == torch.float32
    precision = {} if is_exact else {"rtol": 1e-3, "atol": 1e-3}
    model, session = artifact.model, artifact.loaded.session()
    model.reset()

    def both(name: str, *arguments: Tensor) -> None:
        expected = getattr(model, name)(*arguments)
        found = session.run(name, *(argument.numpy() for argument in arguments))
        for x, y in zip(
            found, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            torch.testing.assert_close(torch.as_tensor(x), y, **precision)

    def step(tokens: list[tuple[int, int]], table: list[list[int]]) -> None:
        positions, rows = torch.tensor(tokens).T.contiguous()
        used = len(table)
        both(
            *("decode", torch.randn(len(tokens), 16), positions, rows, torch.tensor(table)),
            *(memory[:used], lengths[:used]),
        )

    def refused(tokens: list[tuple[int, int]], table: list[list[int]]) -> None:
        x, (positions, rows) = torch.randn(len(tokens), 16), torch.tensor(tokens).T.contiguous()
        before = {name: session.state[name] for name in session.state}
        given = (x, positions, rows, torch.tensor(table), memory, lengths)
        try:
            session.run("decode", *(each.numpy() for each in given))
        finally:
            assert all(np.array_equal(session.state[name], before[name]) for name in before)

    memory, lengths = torch.tensor([[7, 8], [3, 4], [5, 6]]), torch.tensor([8, 1, 6])
    both("encode", torch.randn(3, 8, 16), memory, lengths)
    step([(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1)], [[1, 2, 3], [4, 5, 6]])
    step([(2, 1), (5, 0), (4, 0)], [[1, 2, 3], [4, 5, 6]])
    # A third sequence goes on from the first one's prefix; its last page is a copy.
    both("fork", torch.tensor([2]), torch.tensor([8]))
    table = [[1, 2, 3], [4, 5, 6], [1, 8, 7]]
    step([(6, 0), (7, 0), (6, 2), (8, 0), (3, 1), (7, 2), (8, 2), (4, 1)], table)
    for position in (9, 10, 11):
        step([(position, 2), (position, 0), (position - 4, 1)], table)
    # What is refused changes nothing: before the engine is entered, or by the check inside.
    for tokens, message in (
        ([(3, 0), (3, 2)], "tokens 0 and 1 both at slot 3 of page 1"),
        ([(5, 1), (0, 0), (5, 1)], "tokens 0 and 2 both at slot 1 of page 5"),
        ([(12, 1)], "value 12 is above 11, the largest that indexes dimension 1 of 'table'"),
        ([(1, 3)], "value 3 is above 2, the largest that indexes dimension 0 of 'table'"),
    ):
        with pytest.raises(ps.ContractError, match=message):
            refused(tokens, table)
    step([(8, 1), (5, 2)], table)


def test_a_token_is_bit_for_bit_what_it_is_in_a_step_of_its_own(artifact: Artifact) -> None:
    generator = np.random.default_rng(0)
    table = np.array([[1, 2, 3], [4, 5, 6], [1, 8, 7]])  # row 2 has the first page of row 0
    texts = np.array([[7, 8], [3, 4], [5, 6]])
    lengths = np.array([8, 0, 6])
    tokens = [(position, 0) for position in range(8)] + [(position, 1) for position in range(5)]
    tokens += [(position, 2) for position in range(4, 9)]
    places = np.array(sorted(tokens))
    x = generator.standard_normal((len(places), 16), np.float32)
    source = generator.standard_normal((3, 8, 16), np.float32)

    def run(steps: list[np.ndarray]) -> np.ndarray:
        session = artifact.loaded.session()
        session.run("encode", source, texts, lengths)
        results = np.empty_like(x)
        for step in steps:
            given = (x[step], *np.ascontiguousarray(places[step].T), table, texts, lengths)
            results[step] = np.asarray(session.run("decode", *given)[0])
        return results

    alone = run([np.array([token]) for token in range(len(places))])
    for _ in range(10):
        cuts = np.cumsum(generator.integers(1, 9, len(places)))
        steps = np.split(np.arange(len(places)), cuts[cuts < len(places)])
        together = run([generator.permutation(step) for step in steps])
        assert np.array_equal(together, alone)

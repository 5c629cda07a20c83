"""Operators of torch, one program each: exported, opened and run by dimscope, against torch.

    python part_torch_export.py DIMSCOPE FOLDER [NAME]

Each case is a call with its arguments positional, by name or left out. torch.export writes it to
FOLDER/NAME.pt2, with one run beside it, NAME.io; `dimscope run --vectors` computes the same, and
`dimscope check` finds no operator without a rule. A line for each case: "ok NAME", "not ok NAME: why".
"""
import os
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F

g = torch.Generator().manual_seed(7)


def f(*shape):
    return torch.randn(shape, generator=g)


def pos(*shape):
    return torch.rand(shape, generator=g) + 0.5


def i(high, *shape):
    return torch.randint(0, high, shape, generator=g)


def b(*shape):
    return torch.rand(shape, generator=g) > 0.5


aten = torch.ops.aten
H = torch.float16
B = torch.bfloat16



def gates(n, directions=1, features=4, hidden=3, layers=1):
    """The weights of an LSTM (n = 4), a GRU (3) or an RNN (1)."""
    return [f(*shape) for layer in range(layers) for _ in range(directions) for shape in (
        (n * hidden, directions * hidden if layer else features), (n * hidden, hidden),
        (n * hidden,), (n * hidden,))]


# name: function, inputs
CASES = {
    # recurrent
    "lstm": (lambda x, h, c, *w: aten.lstm.input(x, [h, c], list(w), True, 1, 0.0, False, False,
                                                 True), [f(2, 5, 4), f(1, 2, 3), f(1, 2, 3),
                                                         *gates(4)]),
    "lstm_layers": (lambda x, h, c, *w: aten.lstm.input(x, [h, c], list(w), True, 2, 0.0, False,
                                                        True, False),
                    [f(5, 2, 4), f(4, 2, 3), f(4, 2, 3), *gates(4, 2, layers=2)]),
    "gru": (lambda x, h, *w: aten.gru.input(x, h, list(w), True, 1, 0.0, False, True, True),
            [f(2, 5, 4), f(2, 2, 3), *gates(3, 2)]),
    "rnn_tanh": (lambda x, h, *w: aten.rnn_tanh.input(x, h, list(w), True, 1, 0.0, False, False,
                                                      False), [f(5, 2, 4), f(1, 2, 3), *gates(1)]),
    # smoothed labels, labels that are shares
    **{f"cross_entropy_smooth_{r}": (lambda x, t, r=r: F.cross_entropy(
        x, t, ignore_index=1, reduction=r, label_smoothing=0.1), [f(6, 5), i(5, 6)])
       for r in ("mean", "sum", "none")},
    "cross_entropy_shares": (lambda x, t: F.cross_entropy(x, t.softmax(1), label_smoothing=0.1),
                             [f(4, 5, 3), f(4, 5, 3)]),
    # resizing, grids, strides
    **{"upsample_" + mode: (lambda x, mode=mode: F.interpolate(x, size=(7, 5), mode=mode),
                            [f(2, 3, 4, 6)])
       for mode in ("nearest", "nearest-exact", "bilinear", "bicubic")},
    **{"upsample_corners_" + mode: (lambda x, mode=mode: F.interpolate(
        x, scale_factor=(1.7, 2.0), mode=mode, align_corners=True), [f(2, 3, 4, 6)])
       for mode in ("bilinear", "bicubic")},
    "upsample_factor": (lambda x: F.interpolate(x, scale_factor=1.7, mode="nearest"), [f(2, 3, 7)]),
    "upsample_linear1d": (lambda x: F.interpolate(x, size=9, mode="linear"), [f(2, 3, 5)]),
    "upsample_trilinear": (lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"),
                           [f(1, 2, 3, 4, 5)]),
    **{f"grid_sample_{mode}_{pad}": (lambda x, y, mode=mode, pad=pad: F.grid_sample(
        x, y, mode=mode, padding_mode=pad, align_corners=False), [f(2, 3, 5, 6), f(2, 4, 3, 2)])
       for mode in ("bilinear", "nearest") for pad in ("zeros", "border", "reflection")},
    "affine_grid": (lambda x: F.affine_grid(x, (2, 3, 4, 5), align_corners=False), [f(2, 2, 3)]),
    "as_strided": (lambda x: torch.as_strided(x, (3, 2), (1, 2), 1), [f(10)]),
    "take_along_dim_broadcast": (lambda x, k: torch.take_along_dim(x, k, 1),
                                 [f(3, 5), i(5, 1, 2)]),
    "tensordot": (lambda x, y: torch.tensordot(x, y, dims=([1, -1], [0, 1])),
                  [f(2, 3, 4), f(3, 4, 5)]),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), [f(2, 8, 3, 2)]),
    "triplet_margin_loss": (F.triplet_margin_loss, [f(4, 6), f(4, 6), f(4, 6)]),
    # element by element
    **{name: (getattr(torch, name), [f(3, 4)]) for name in
       "neg abs sign relu floor ceil round trunc frac exp erf tanh sigmoid sin cos tan sinh cosh "
       "atan asinh exp2 expm1 erfc square isnan isinf isfinite logical_not".split()},
    **{name: (getattr(torch, name), [pos(3, 4)]) for name in
       "log sqrt rsqrt reciprocal log1p log2 log10".split()},
    "asin": (torch.asin, [f(3) * 0.1]), "acos": (torch.acos, [f(3) * 0.1]),
    "atanh": (torch.atanh, [f(3) * 0.1]), "acosh": (torch.acosh, [pos(3) + 1]),
    "exp_int": (torch.exp, [i(3, 4)]),
    "bitwise_not_bool": (torch.bitwise_not, [b(4)]),
    "bitwise_not_int": (torch.bitwise_not, [i(9, 4)]),
    "silu": (F.silu, [f(3, 4)]), "gelu": (F.gelu, [f(3, 4)]),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), [f(3, 4)]),
    "hardswish": (F.hardswish, [f(3, 4) * 4]), "hardsigmoid": (F.hardsigmoid, [f(3, 4) * 4]),
    "hardswish_": (lambda x: F.hardswish(x + 1, inplace=True) * 2, [f(3, 4)]),
    "hardtanh": (F.hardtanh, [f(3, 4)]), "relu6": (F.relu6, [f(3, 4) * 5]),
    "leaky_relu": (F.leaky_relu, [f(3, 4)]), "elu": (lambda x: F.elu(x, 1.5), [f(3, 4)]),
    "celu": (F.celu, [f(3, 4)]), "selu": (F.selu, [f(3, 4)]), "mish": (F.mish, [f(3, 4)]),
    "softplus": (F.softplus, [f(3, 4)]), "softplus_beta": (lambda x: F.softplus(x, 2.0), [f(3, 4)]),
    "softsign": (F.softsign, [f(3)]), "log_sigmoid": (F.logsigmoid, [f(3)]),
    "glu": (F.glu, [f(3, 4)]), "prelu": (F.prelu, [f(2, 3, 4), f(3)]),
    "threshold": (lambda x: F.threshold(x, 0.1, 5.0), [f(3, 4)]),
    "add": (torch.add, [f(3, 4), f(4)]), "add_alpha": (lambda x, y: torch.add(x, y, alpha=2), [f(3), f(3)]),
    "add_int_float": (torch.add, [i(5, 3), f(3)]), "add_scalar": (lambda x: x + 1.5, [i(5, 3)]),
    "add_half": (lambda x: x + 1.5, [f(3).to(H)]), "add_mixed": (torch.add, [f(3).to(H), f(3)]),
    "add_scalar_tensor": (torch.add, [f(3).to(B), f()]),
    "add_bool": (torch.add, [b(4), b(4)]), "sub_alpha": (lambda x, y: torch.sub(x, y, alpha=3), [f(3), f(3)]),
    "rsub": (lambda x: 1 - x, [f(3)]), "rsub_op": (lambda x, y: torch.rsub(x, y, alpha=2), [f(3), f(3)]),
    "mul_bool": (lambda x, y: x * y, [b(4), b(4)]), "mul_float_bool": (lambda x, y: x * y, [f(4), b(4)]),
    "div_int": (torch.div, [i(9, 4), i(5, 4) + 1]), "div_scalar": (lambda x: x / 3, [i(9, 4)]),
    "div_floor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), [f(8) * 9, pos(8)]),
    "div_trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), [f(8) * 9, pos(8)]),
    "div_trunc_int": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), [i(19, 8) - 9, i(3, 8) + 1]),
    "div_floor_int": (lambda x, y: torch.div(x, y, rounding_mode="floor"), [i(19, 8) - 9, i(3, 8) + 1]),
    "div_": (lambda x: (x + 1).div_(2), [f(4)]),
    "floor_divide": (lambda x: x // 3, [i(19, 8) - 9]), "floor_divide_f": (lambda x: x // 0.7, [f(8)]),
    "remainder": (lambda x: x % 3, [i(19, 8) - 9]), "remainder_f": (lambda x: x % 0.7, [f(8)]),
    "fmod": (lambda x: torch.fmod(x, 3), [i(19, 8) - 9]), "fmod_f": (lambda x: torch.fmod(x, 0.7), [f(8)]),
    "pow_scalar": (lambda x: x ** 3, [f(4)]), "pow_half": (lambda x: x ** 0.5, [pos(4)]),
    "pow_tensor": (torch.pow, [pos(4), f(4)]), "pow_base": (lambda x: 2 ** x, [f(4)]),
    "pow_int": (lambda x: x ** 2, [i(5, 4)]),
    "maximum": (torch.maximum, [f(3, 4), f(4)]), "minimum": (torch.minimum, [f(3, 4), f(4)]),
    "max_other": (torch.max, [f(4), f(4)]), "min_other": (torch.min, [f(4), f(4)]),
    **{name: (getattr(torch, name), [i(3, 4, 5), i(3, 5)]) for name in "eq ne lt le gt ge".split()},
    **{name + "_scalar": ((lambda op: lambda x: op(x, 1.5))(getattr(torch, name)), [i(4, 9)])
       for name in "eq ne lt le gt ge".split()},
    "logical_and": (torch.logical_and, [b(4), f(4)]), "logical_or": (torch.logical_or, [b(4), b(4)]),
    "logical_xor": (torch.logical_xor, [b(4), b(4)]),
    "and": (lambda x, y: x & y, [b(4), b(4)]), "or": (lambda x, y: x | y, [b(4), b(4)]),
    "xor": (lambda x, y: x ^ y, [i(9, 4), i(9, 4)]), "bitwise_and": (torch.bitwise_and, [i(9, 4), i(9, 4)]),
    "where": (torch.where, [b(4), f(4), f(4)]), "where_other": (lambda c, x: torch.where(c, x, 0.0), [b(4), f(4)]),
    "where_self": (lambda c, x: torch.where(c, 1.0, x), [b(4), f(4)]),
    "where_int": (lambda c, x: torch.where(c, x, 2.5), [b(4), i(4, 4)]),
    "masked_fill": (lambda x, m: x.masked_fill(m, -1e9), [f(3, 4), b(4)]),
    "masked_fill_inf": (lambda x, m: x.masked_fill(m, float("-inf")).softmax(-1), [f(3, 4), b(3, 4) & False]),
    "masked_fill_t": (lambda x, m, v: x.masked_fill(m, v), [f(3, 4), b(4), f()]),
    "clamp": (lambda x: x.clamp(-0.5, 0.5), [f(9)]), "clamp_min": (lambda x: x.clamp(min=0), [i(9, 9) - 4]),
    "clamp_max": (lambda x: x.clamp(max=0.2), [f(9)]), "clamp_t": (torch.clamp, [f(4), f(4) - 1, f(4) + 1]),
    "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=2), [f(4), f(4), f(4)]),
    "addcdiv": (torch.addcdiv, [f(4), f(4), pos(4)]), "lerp": (lambda x, y: torch.lerp(x, y, 0.3), [f(4), f(4)]),
    "to_half": (lambda x: x.to(H), [f(4)]), "to_int": (lambda x: x.to(torch.int64), [f(4) * 5]),
    "to_bool": (lambda x: x.to(torch.bool), [i(2, 4)]), "type_as": (lambda x, y: x.type_as(y), [i(3, 4), f(4)]),
    "to_copy": (lambda x: aten._to_copy.default(x, dtype=torch.float64), [f(4)]),
    "dropout": (lambda x: F.dropout(x, 0.5, training=False), [f(4)]),
    # folds
    "sum": (torch.sum, [f(3, 4)]), "sum_dim": (lambda x: x.sum(1), [f(3, 4)]),
    "sum_dims": (lambda x: x.sum((0, -1), keepdim=True), [f(3, 4, 5)]), "sum_bool": (lambda x: x.sum(0), [b(4, 5)]),
    "sum_dtype": (lambda x: x.sum(0, dtype=torch.float64), [f(4, 5)]), "sum_int": (torch.sum, [i(9, 4).to(torch.int32)]),
    "mean": (torch.mean, [f(3, 4)]), "mean_dim": (lambda x: x.mean(-1, keepdim=True), [f(3, 4)]),
    "prod": (torch.prod, [f(4)]), "prod_dim": (lambda x: x.prod(1), [f(3, 4)]),
    "max": (torch.max, [f(3, 4)]), "max_dim": (lambda x: torch.max(x, 1), [f(3, 4)]),
    "min_dim": (lambda x: torch.min(x, 0, keepdim=True), [f(3, 4)]), "min": (torch.min, [f(3, 4)]),
    "amax": (lambda x: torch.amax(x, (0, 1)), [f(3, 4, 5)]), "amin": (lambda x: torch.amin(x, -1, True), [f(3, 4)]),
    "any": (torch.any, [b(3, 4)]), "any_dim": (lambda x: torch.any(x, 1), [b(3, 4)]),
    "any_float": (lambda x: torch.any(x, 0, True), [f(3, 4).relu()]),
    "all": (torch.all, [b(3, 4)]), "all_dim": (lambda x: torch.all(x, 1), [b(3, 4) | True]),
    "argmax": (torch.argmax, [f(3, 4)]), "argmax_dim": (lambda x: x.argmax(-1), [f(3, 4)]),
    "argmin_dim": (lambda x: x.argmin(0, keepdim=True), [f(3, 4)]),
    "logsumexp": (lambda x: x.logsumexp(-1), [f(3, 4)]),
    "var": (torch.var, [f(3, 4)]), "var_dim": (lambda x: x.var(1), [f(3, 4)]),
    "var_biased": (lambda x: x.var(1, unbiased=False, keepdim=True), [f(3, 4)]),
    "var_correction": (lambda x: torch.var(x, dim=(0, 1), correction=0), [f(3, 4, 2)]),
    "std": (lambda x: x.std(-1), [f(3, 4)]), "var_mean": (lambda x: torch.var_mean(x, 1), [f(3, 4)]),
    "norm": (lambda x: torch.linalg.vector_norm(x, dim=-1, keepdim=True), [f(3, 4)]),
    "norm1": (lambda x: torch.linalg.vector_norm(x, 1, dim=0), [f(3, 4)]),
    "norm3": (lambda x: torch.linalg.vector_norm(x, 3.0), [f(3, 4)]),
    "cumsum": (lambda x: x.cumsum(1), [f(3, 4)]), "cumsum_int": (lambda x: x.cumsum(-1), [i(4, 3, 4).to(torch.int32)]),
    "cumsum_bool": (lambda x: x.cumsum(0), [b(5)]), "cumprod": (lambda x: x.cumprod(0), [f(3, 4)]),
    "softmax": (lambda x: x.softmax(1), [f(3, 4, 5)]),
    "softmax_dtype": (lambda x: F.softmax(x, -1, dtype=torch.float32), [f(3, 4).to(H)]),
    "log_softmax": (lambda x: x.log_softmax(-1), [f(3, 4)]),
    "_softmax": (lambda x: aten._softmax.default(x, 1, False), [f(3, 4)]),
    "_log_softmax": (lambda x: aten._log_softmax.default(x, -1, False), [f(3, 4)]),
    "diff": (torch.diff, [f(3, 6)]), "diff2": (lambda x: torch.diff(x, n=2, dim=0), [f(6, 3)]),
    "diff_prepend": (lambda x, p: torch.diff(x, prepend=p), [i(5, 2, 4), i(5, 2, 1)]),
    # shapes
    "view": (lambda x: x.view(4, -1), [f(2, 6)]), "reshape": (lambda x: x.reshape(-1), [f(2, 6)]),
    "flatten": (torch.flatten, [f(2, 3, 4)]), "flatten_1": (lambda x: x.flatten(1), [f(2, 3, 4)]),
    "flatten_0": (lambda x: x.flatten(0, 1), [f(2, 3, 4)]), "unflatten": (lambda x: x.unflatten(-1, (2, -1)), [f(3, 8)]),
    "squeeze": (torch.squeeze, [f(1, 3, 1)]), "squeeze_dim": (lambda x: x.squeeze(0), [f(1, 3, 1)]),
    "squeeze_no": (lambda x: x.squeeze(1), [f(1, 3, 1)]), "squeeze_dims": (lambda x: x.squeeze((0, 2)), [f(1, 3, 1)]),
    "unsqueeze": (lambda x: x.unsqueeze(-1), [f(3)]), "transpose": (lambda x: x.transpose(0, -1), [f(2, 3, 4)]),
    "t": (torch.t, [f(2, 3)]), "mT": (lambda x: x.mT, [f(2, 3, 4)]),
    "permute": (lambda x: x.permute(2, 0, -2), [f(2, 3, 4)]), "movedim": (lambda x: x.movedim(0, -1), [f(2, 3, 4)]),
    "swapaxes": (lambda x: x.swapaxes(0, 2), [f(2, 3, 4)]),
    "expand": (lambda x: x.expand(4, -1, 5), [f(3, 1)]), "expand_as": (lambda x, y: x.expand_as(y), [f(3, 1), f(2, 3, 4)]),
    "repeat": (lambda x: x.repeat(2, 1, 3), [f(3, 4)]), "tile": (lambda x: x.tile(2), [f(3, 4)]),
    "repeat_interleave": (lambda x: x.repeat_interleave(3, dim=1), [f(2, 3, 4)]),
    "repeat_interleave_flat": (lambda x: x.repeat_interleave(2), [f(2, 3)]),
    "slice": (lambda x: x[1:, -3:-1], [f(4, 5)]), "slice_step": (lambda x: x[::2, 1:9:3], [f(4, 9)]),
    "narrow": (lambda x: x.narrow(1, 1, 2), [f(3, 4)]), "select": (lambda x: x[:, -1], [f(3, 4)]),
    "unbind": (lambda x: torch.unbind(x, 1), [f(3, 2)]), "split": (lambda x: x.split(2, 1), [f(3, 5)]),
    "split_sizes": (lambda x: x.split([1, 4], -1), [f(3, 5)]), "chunk": (lambda x: x.chunk(3, 0), [f(7, 2)]),
    "cat": (lambda x, y: torch.cat((x, y), -1), [f(3, 2), f(3, 4)]), "cat_mixed": (lambda x, y: torch.cat((x, y)), [i(5, 3), f(3)]),
    "stack": (lambda x, y: torch.stack((x, y), 1), [f(3, 2), f(3, 2)]),
    "slice_scatter": (lambda x, y: x.slice_scatter(y, 1, 1, 3), [f(3, 4), f(3, 2)]),
    "slice_scatter_end": (lambda x, y: x.slice_scatter(y, 0, start=2), [f(5, 4), f(3, 4)]),
    "slice_scatter_step": (lambda x, y: x.slice_scatter(y, 1, 0, 4, 2), [f(3, 4), f(3, 2)]),
    "select_scatter": (lambda x, y: x.select_scatter(y, 0, -1), [f(3, 4), f(4)]),
    "flip": (lambda x: x.flip(0, 1), [f(3, 4)]), "roll": (lambda x: x.roll(2, 1), [f(3, 5)]),
    "roll2": (lambda x: torch.roll(x, (1, -1), (0, 1)), [f(3, 5)]),
    "pad": (lambda x: F.pad(x, (1, 2)), [f(3, 4)]), "pad_value": (lambda x: F.pad(x, (1, 0, 2, 1), value=3.0), [f(3, 4)]),
    "pad_neg": (lambda x: F.pad(x, (0, -1)), [f(3, 4)]), "pad_reflect": (lambda x: F.pad(x, (2, 1), mode="reflect"), [f(1, 3, 4)]),
    "pad_replicate": (lambda x: F.pad(x, (2, 1), mode="replicate"), [f(1, 3, 4)]),
    "tril": (torch.tril, [f(4, 4)]), "triu": (lambda x: x.triu(1), [f(3, 4)]),
    "as_bits": (lambda x: x.view(torch.int32), [f(3)]),
    # made
    "arange": (lambda x: x + torch.arange(4), [f(4)]), "arange_f": (lambda x: x + torch.arange(0.0, 2.0, 0.5), [f(4)]),
    "arange_step": (lambda x: x + torch.arange(9, 1, -2), [f(4)]),
    "full": (lambda x: x + torch.full((2, 4), 1.5), [f(4)]), "full_bool": (lambda x: x & torch.full((4,), True), [b(4)]),
    "zeros": (lambda x: x + torch.zeros(2, 4), [f(4)]), "ones": (lambda x: x + torch.ones(4, dtype=torch.int64), [f(4)]),
    "new_ones": (lambda x: x.new_ones(3) + x, [f(3)]), "new_zeros": (lambda x: x.new_zeros((2, 3)) + x, [f(3)]),
    "new_full": (lambda x: x.new_full((3,), 2) + x, [f(3)]), "full_like": (lambda x: torch.full_like(x, 2.5) + x, [f(3)]),
    "zeros_like": (lambda x: torch.zeros_like(x, dtype=torch.bool), [f(3)]), "ones_like": (torch.ones_like, [f(3)]),
    "linspace": (lambda x: x + torch.linspace(0, 1, 5), [f(5)]), "eye": (lambda x: x @ torch.eye(3, 4), [f(2, 3)]),
    "scalar_tensor": (lambda x: x + aten.scalar_tensor.default(2.5, dtype=torch.float32), [f(3)]),
    "fill_": (lambda x: (x + 0).fill_(2.0) + x, [f(3)]), "zero_": (lambda x: (x + 0).zero_() + x, [f(3)]),
    # places
    "index": (lambda x, k: x[k], [f(5, 3), i(5, 2, 4)]), "index_1": (lambda x, k: x[:, k], [f(2, 5, 3), i(5, 4)]),
    "index_2": (lambda x, k, m: x[k, m], [f(5, 3, 2), i(5, 4), i(3, 4)]),
    "index_12": (lambda x, k, m: x[:, k, m], [f(2, 5, 3, 2), i(5, 4), i(3, 4)]),
    "index_02": (lambda x, k, m: x[k, :, m], [f(5, 2, 3), i(5, 4), i(3, 4)]),
    "index_wide": (lambda x, k, m: x[k, m], [f(5, 3), i(5, 4, 1), i(3, 2)]),
    "index_neg": (lambda x, k: x[k - 5], [f(5, 3), i(5, 4)]),
    "index_put": (lambda x, k, v: x.index_put((k,), v), [f(5, 3), torch.tensor([0, 3]), f(2, 3)]),
    "index_put_add": (lambda x, k, v: x.index_put((k,), v, accumulate=True), [f(5, 3), i(5, 6), f(6, 3)]),
    "index_put_": (lambda x, k, v: (x + 0).index_put_((k,), v) * 2, [f(5, 3), torch.tensor([1, 2]), f(3)]),
    "index_put_2": (lambda x, k, m, v: x.index_put((k, m), v), [f(5, 3), torch.tensor([0, 1]), torch.tensor([2, 0]), f(2)]),
    "index_put_mask": (lambda x: x.index_put((x > 0,), torch.tensor(0.0)), [f(5, 3)]),
    "index_select": (lambda x, k: x.index_select(1, k), [f(3, 5), i(5, 4)]),
    "gather": (lambda x, k: x.gather(1, k), [f(3, 5), i(5, 3, 2)]),
    "scatter": (lambda x, k, s: x.scatter(1, k, s), [f(3, 5), torch.tensor([[0, 2], [1, 3], [4, 0]]), f(3, 2)]),
    "scatter_value": (lambda x, k: x.scatter(1, k, 2.0), [f(3, 5), i(5, 3, 2)]),
    "scatter_add": (lambda x, k, s: x.scatter_add(0, k, s), [f(3, 5), i(3, 4, 5), f(4, 5)]),
    "index_add": (lambda x, k, s: x.index_add(0, k, s, alpha=2), [f(3, 5), i(3, 4), f(4, 5)]),
    "embedding": (F.embedding, [i(7, 2, 3), f(7, 4)]), "embedding_pad": (lambda k, w: F.embedding(k, w, padding_idx=1), [i(7, 2, 3), f(7, 4)]),
    "topk": (lambda x: torch.topk(x, 2), [f(3, 5)]), "topk_small": (lambda x: torch.topk(x, 2, 0, False), [f(5, 3)]),
    "sort": (torch.sort, [f(3, 5)]), "sort_down": (lambda x: torch.sort(x, 0, True), [f(5, 3)]),
    "argsort": (lambda x: x.argsort(-1), [f(3, 5)]),
    "histc": (lambda x: torch.histc(x, 5, -1.0, 1.0), [f(40)]), "histc_int": (lambda x: torch.histc(x.float(), bins=4, min=0, max=3), [i(4, 20)]),
    "histc_auto": (lambda x: torch.histc(x, 6), [f(40)]),
    "nonzero": (torch.nonzero, [f(4, 5).relu()]), "masked_select": (torch.masked_select, [f(4, 5), b(4, 5)]),
    "one_hot": (lambda x: F.one_hot(x, 5), [i(5, 3)]),
    # layers
    "mm": (torch.mm, [f(3, 4), f(4, 5)]), "bmm": (torch.bmm, [f(2, 3, 4), f(2, 4, 5)]), "mv": (torch.mv, [f(3, 4), f(4)]),
    "matmul": (torch.matmul, [f(2, 3, 4), f(4, 5)]), "matmul_v": (torch.matmul, [f(2, 3, 4), f(4)]), "dot": (torch.dot, [f(4), f(4)]),
    "linear": (F.linear, [f(2, 3, 4), f(5, 4), f(5)]), "linear_1": (F.linear, [f(4), f(5, 4)]),
    "addmm": (torch.addmm, [f(5), f(3, 4), f(4, 5)]), "addmm_ab": (lambda x, y, z: torch.addmm(x, y, z, beta=0.5, alpha=2), [f(3, 5), f(3, 4), f(4, 5)]),
    "baddbmm": (lambda x, y, z: torch.baddbmm(x, y, z, alpha=0.5), [f(2, 3, 5), f(2, 3, 4), f(2, 4, 5)]), "outer": (torch.outer, [f(3), f(4)]),
    "einsum": (lambda x, y: torch.einsum("b i d, b j d -> b i j", x, y), [f(2, 3, 4), f(2, 5, 4)]),
    "einsum_3": (lambda x, y, z: torch.einsum("ij,jk,kl->il", x, y, z), [f(2, 3), f(3, 4), f(4, 5)]),
    "conv1d": (F.conv1d, [f(2, 3, 9), f(4, 3, 3), f(4)]), "conv1d_g": (lambda x, w: F.conv1d(x, w, padding=2, groups=3), [f(2, 3, 9), f(3, 1, 3)]),
    "conv2d": (lambda x, w, c: F.conv2d(x, w, c, 2, 1), [f(2, 3, 8, 8), f(4, 3, 3, 3), f(4)]),
    "conv2d_dil": (lambda x, w: F.conv2d(x, w, stride=(1, 2), padding=(2, 0), dilation=2), [f(2, 3, 9, 8), f(4, 3, 3, 3)]),
    "conv2d_same": (lambda x, w: F.conv2d(x, w, padding="same"), [f(2, 3, 8, 8), f(4, 3, 3, 3)]),
    "conv2d_unbatched": (F.conv2d, [f(3, 8, 8), f(4, 3, 3, 3)]), "conv3d": (F.conv3d, [f(1, 2, 4, 5, 6), f(3, 2, 2, 2, 2)]),
    "convolution": (lambda x, w: aten.convolution.default(x, w, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1), [f(2, 3, 8, 8), f(4, 3, 3, 3)]),
    "conv_transpose": (lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1), [f(2, 3, 4, 4), f(3, 5, 3, 3)]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), [f(2, 3, 8, 8)]), "max_pool_default": (lambda x: F.max_pool2d(x, 2), [f(2, 3, 7, 8)]),
    "max_pool_ceil": (lambda x: F.max_pool2d(x, 2, ceil_mode=True), [f(2, 3, 7, 8)]), "max_pool1d": (lambda x: F.max_pool1d(x, 3), [f(2, 3, 9)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1), [f(2, 3, 8, 8)]), "avg_pool_no": (lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), [f(2, 3, 8, 8)]),
    "adaptive_1": (lambda x: F.adaptive_avg_pool2d(x, 1), [f(2, 3, 7, 8)]), "adaptive_3": (lambda x: F.adaptive_avg_pool2d(x, (3, 5)), [f(2, 3, 7, 8)]),
    "adaptive_none": (lambda x: F.adaptive_avg_pool2d(x, (7, 2)), [f(2, 3, 7, 8)]), "adaptive1d": (lambda x: F.adaptive_avg_pool1d(x, 2), [f(2, 3, 7)]),
    "layer_norm": (lambda x, w, c: F.layer_norm(x, (4,), w, c), [f(2, 3, 4), f(4), f(4)]), "layer_norm_plain": (lambda x: F.layer_norm(x, (3, 4), eps=1e-3), [f(2, 3, 4)]),
    "native_layer_norm": (lambda x, w, c: aten.native_layer_norm.default(x, [4], w, c, 1e-5), [f(2, 3, 4), f(4), f(4)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), [f(2, 3, 4), f(4)]), "rms_eps": (lambda x: F.rms_norm(x, (4,), eps=1e-3), [f(2, 3, 4)]),
    "group_norm": (lambda x, w, c: F.group_norm(x, 2, w, c), [f(2, 4, 5, 6), f(4), f(4)]), "group_norm_plain": (lambda x: F.group_norm(x, 2), [f(2, 4, 5)]),
    "batch_norm": (lambda x, m, v, w, c: F.batch_norm(x, m, v, w, c), [f(2, 3, 4, 5), f(3), pos(3), f(3), f(3)]),
    "bn_functional": (lambda x, w, c, m, v: aten._native_batch_norm_legit_functional.default(x, w, c, m, v, True, 0.1, 1e-5), [f(4, 3, 5), f(3), f(3), f(3), pos(3)]),
    "bn_no_training": (lambda x, w, c, m, v: aten._native_batch_norm_legit_no_training.default(x, w, c, m, v, 0.1, 1e-5), [f(4, 3, 5), f(3), f(3), f(3), pos(3)]),
    "sdpa": (F.scaled_dot_product_attention, [f(2, 3, 5, 4), f(2, 3, 6, 4), f(2, 3, 6, 7)]),
    "sdpa_causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [f(2, 3, 5, 4), f(2, 3, 5, 4), f(2, 3, 5, 4)]),
    "sdpa_mask": (lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, scale=0.3), [f(2, 3, 5, 4), f(2, 3, 6, 4), f(2, 3, 6, 4), f(5, 6)]),
    "sdpa_bool": (lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), [f(2, 3, 5, 4), f(2, 3, 6, 4), f(2, 3, 6, 4), b(2, 1, 5, 6) | (torch.arange(6) == 0)]),
    "sdpa_gqa": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), [f(2, 4, 5, 4), f(2, 2, 6, 4), f(2, 2, 6, 4)]),
    "sdpa_3d": (F.scaled_dot_product_attention, [f(2, 5, 4), f(2, 6, 4), f(2, 6, 4)]),
    "cross_entropy": (F.cross_entropy, [f(6, 5), i(5, 6)]), "cross_entropy_ignore": (lambda x, y: F.cross_entropy(x, y, ignore_index=2, reduction="sum"), [f(6, 5), i(5, 6)]),
    "nll": (lambda x, y: F.nll_loss(x, y, reduction="none"), [f(6, 5), i(5, 6)]),
    "nll_forward": (lambda x, y: aten.nll_loss_forward.default(x, y, None, 1, -100), [f(6, 5), i(5, 6)]), "mse": (F.mse_loss, [f(3, 4), f(3, 4)]),
    # gradients
    "tanh_backward": (aten.tanh_backward.default, [f(4), f(4)]), "sigmoid_backward": (aten.sigmoid_backward.default, [f(4), f(4)]),
    "threshold_backward": (lambda x, y: aten.threshold_backward.default(x, y, 0), [f(4), f(4)]), "silu_backward": (aten.silu_backward.default, [f(4), f(4)]),
    "softmax_backward": (lambda x, y: aten._softmax_backward_data.default(x, y, -1, torch.float32), [f(3, 4), f(3, 4)]),
    "log_softmax_backward": (lambda x, y: aten._log_softmax_backward_data.default(x, y, 1, torch.float32), [f(3, 4), f(3, 4)]),
    "layer_norm_backward": (lambda d, x, m, r, w, c: aten.native_layer_norm_backward.default(d, x, [4], m, r, w, c, [True, True, True]), [f(2, 3, 4), f(2, 3, 4), f(2, 3, 1), pos(2, 3, 1), f(4), f(4)]),
    "embedding_backward": (lambda d, k: aten.embedding_dense_backward.default(d, k, 7, 1, False), [f(2, 3, 4), i(7, 2, 3)]),
    "nll_backward": (lambda d, x, y, t: aten.nll_loss_backward.default(d, x, y, None, 1, 2, t), [f(), f(6, 5), i(5, 6), pos()]),
    "slice_backward": (lambda d: aten.slice_backward.default(d, [3, 6], 1, 1, 5, 1), [f(3, 4)]), "slice_backward_step": (lambda d: aten.slice_backward.default(d, [3, 6], 1, 1, 6, 2), [f(3, 3)]),
    "select_backward": (lambda d: aten.select_backward.default(d, [3, 4], 0, -1), [f(4)]),
    # changes in place
    "relu_": (lambda x: F.relu(x * 1, inplace=True) + 1, [f(3, 4)]), "add_": (lambda x: (x * 1).add_(x, alpha=2), [f(3, 4)]),
    "in_place_view": (lambda x: _in_place_view(x), [f(3, 4)]), "in_place_base": (lambda x: _in_place_base(x), [f(3, 4)]),
    "in_place_slice": (lambda x: _in_place_slice(x), [f(3, 4)]), "in_place_select": (lambda x: _in_place_select(x), [f(3, 4)]),
    "copy_": (lambda x, y: (x * 1).copy_(y) + x, [f(3, 4), f(4)]),
    # graphs
    "no_grad": (lambda x: _no_grad(x), [f(3, 4)]), "cond": (lambda x: torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,)), [pos(3)]),
    "cond_else": (lambda x: torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,)), [-pos(3)]),
    "while_loop": (lambda x: _while(x), [f(3)]),

    # complex numbers and Fourier transforms
    "complex_rope": (lambda x, a: torch.view_as_real(
        torch.view_as_complex(x.reshape(2, 5, 3, -1, 2)) *
        torch.polar(torch.ones_like(a), a).view(1, 5, 1, -1)).flatten(3), [f(2, 5, 3, 8), f(5, 4)]),
    "complex_parts": (lambda x: (torch.view_as_complex(x).real, torch.view_as_complex(x).imag,
                                 torch.view_as_complex(x).angle(), torch.view_as_complex(x).abs(),
                                 torch.view_as_complex(x).conj() * 1), [f(3, 4, 2)]),
    "complex_makes": (lambda a, b: (torch.complex(a, b), torch.polar(a.abs(), b), a + 1j * b),
                      [f(3, 4), f(3, 4)]),
    "complex_math": (lambda a, b: (a * b, a / b, a + b, a - b, -a, a.reciprocal(), a * 2, 3 - a, a / 2,
                                   a.exp(), a.log(), a ** 3, a.sgn(), a == b),
                     [torch.complex(f(3, 4), f(3, 4)), torch.complex(f(3, 4), f(3, 4))]),
    "complex_real": (lambda a, b: (a * b, a + b, b - a, a / b, b / a, b * 1j),
                     [torch.complex(f(3, 4), f(3, 4)), f(4)]),
    "complex_moves": (lambda a: (a.reshape(6, 2), a.t(), a[1:], a[:, 2], a.unsqueeze(1), a.flatten(),
                                 torch.cat([a, a], -1), torch.stack([a, a]), a.permute(1, 0),
                                 a.expand(2, 3, 4), *a.chunk(2, 1), a[None, :, -1]),
                      [torch.complex(f(3, 4), f(3, 4))]),
    "complex_folds": (lambda a: (a.sum(), a.sum(-1), a.mean(0, keepdim=True)),
                      [torch.complex(f(3, 4), f(3, 4))]),
    "complex_matmul": (lambda a, b: a @ b,
                       [torch.complex(f(3, 4), f(3, 4)), torch.complex(f(4, 2), f(4, 2))]),
    "complex_where": (lambda a, m: torch.where(m, a, 0), [torch.complex(f(3, 4), f(3, 4)), b(3, 4)]),
    "complex_double": (lambda a: (a * a, a.abs()), [torch.complex(f(3, 4).double(), f(3, 4).double())]),
    "complex_buffer": (lambda x: x * torch.polar(torch.ones(4), torch.arange(4.0)), [f(3, 4)]),
    "fft": (lambda x: (torch.fft.fft(x), torch.fft.fft(x, 5, 0, "ortho"), torch.fft.fft(x, norm="forward")),
            [f(4, 6)]),
    "fft_complex": (lambda x: (torch.fft.fft(x), torch.fft.ifft(x), torch.fft.ifft(x, 8, norm="ortho"),
                               torch.fft.ifft(x, dim=0, norm="forward")), [torch.complex(f(4, 6), f(4, 6))]),
    "fft_real": (lambda x: (torch.fft.rfft(x), torch.fft.rfft(x, 7), torch.fft.rfft(x, dim=0, norm="ortho"),
                            torch.fft.irfft(torch.fft.rfft(x)), torch.fft.irfft(torch.fft.rfft(x), 5)),
                 [f(4, 6)]),
    "fft_hermitian": (lambda x: (torch.fft.hfft(torch.fft.ihfft(x), 6), torch.fft.ihfft(x, norm="ortho") * 1,
                                 torch.fft.hfft(torch.fft.ihfft(x), norm="forward")), [f(4, 6)]),
    "fft_dims": (lambda x: (torch.fft.fft2(x), torch.fft.fftn(x), torch.fft.fftn(x, dim=(1, 0)),
                            torch.fft.ifft2(torch.fft.fft2(x)), torch.fft.fftn(x, (3, 4)),
                            torch.fft.rfft2(x), torch.fft.irfft2(torch.fft.rfft2(x)), torch.fft.rfftn(x, norm="ortho"),
                            torch.fft.irfftn(torch.fft.rfftn(x), (2, 4, 6))), [f(2, 4, 6)]),
    "fft_shift": (lambda x: (torch.fft.fftshift(x), torch.fft.ifftshift(x, 1), torch.fft.fftshift(torch.fft.fft(x))),
                  [f(3, 5)]),
    "fft_core": (lambda x: (aten._fft_r2c(x, [0, 1], 0, True), aten._fft_r2c(x, [1], 2, False),
                            aten._fft_c2c(aten._fft_r2c(x, [1], 1, False), [0], 1, False),
                            aten._fft_c2r(aten._fft_r2c(x, [1], 0, True), [1], 2, 6)), [f(4, 6)]),
    "fft_mixer": (lambda x: torch.fft.fftn(x, dim=(1, 2)).real, [f(2, 4, 6)]),
    "fft_whole": (lambda x: torch.fft.fft(x), [i(9, 6)]),
    "windows": (lambda x: (x * torch.hann_window(8), x * torch.hann_window(8, periodic=False),
                           x * torch.hamming_window(8), x * torch.blackman_window(8)), [f(8)]),
}


def _in_place_view(x):
    y = x * 2
    y.view(-1).add_(1)
    return y + x


def _in_place_base(x):
    y = x * 2
    z = y.t()
    y.mul_(3)
    return z + 1


def _in_place_slice(x):
    y = x * 2
    y[1:].mul_(5)
    return y


def _in_place_select(x):
    y = x * 2
    y[:, 1] = 7
    return y.transpose(0, 1)


def _no_grad(x):
    with torch.no_grad():
        y = x.sin()
    return y + x


def _while(x):
    def go_on(k, a):
        return k < 4

    def body(k, a):
        return k + 1, a * 1.5 + k

    return torch._higher_order_ops.while_loop(go_on, body, (torch.tensor(0), x))


class Case(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def save(name, function, inputs, folder):
    module = Case(function)
    data = os.path.join(folder, name + ".io")
    os.makedirs(data, exist_ok=True)
    program = torch.export.export(module, tuple(x.clone() for x in inputs), strict=False)
    torch.export.save(program, os.path.join(folder, name + ".pt2"))
    out = module(*(x.clone() for x in inputs))
    out = [out] if isinstance(out, torch.Tensor) else [o for o in out if o is not None]
    for stem, tensors in (("in", inputs), ("out", out)):
        for at, tensor in enumerate(tensors):
            tensor = tensor.float() if tensor.dtype == B else tensor
            np.save(os.path.join(data, f"{stem}_{at}.npy"), tensor.detach().resolve_conj().numpy())


def main():
    dimscope, folder = sys.argv[1:3]
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    failed = 0
    for name, (function, inputs) in CASES.items():
        if only not in name:
            continue
        try:
            save(name, function, inputs, folder)
        except Exception as error:  # what torch cannot export says nothing of dimscope
            print(f"not ok {name}: torch: {str(error).splitlines()[0][:150]}")
            continue
        path = os.path.join(folder, name)
        done = subprocess.run([dimscope, "run", path + ".pt2", "--vectors", path + ".io"],
                              capture_output=True, text=True, check=False)
        found = subprocess.run([dimscope, "check", path + ".pt2", "-m", "x=2"],
                               capture_output=True, text=True, check=False)
        odd = [line for line in found.stdout.splitlines() + found.stderr.splitlines()
               if "[no-rule]" in line or "[declared-shape]" in line or "[rule-refused]" in line]
        ok = done.returncode == 0 and not odd
        failed += not ok
        if ok:
            print(f"ok {name}")
        else:
            print(f"not ok {name}: {(done.stdout + done.stderr).splitlines()[0][:250]} {odd}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

"""Operators of torch, one program each: exported, opened and run by dimscope, against torch.

    python part_torch_export.py DIMSCOPE FOLDER [NAME]

Each case is a call with its arguments positional, by name or left out. torch.export writes it to
FOLDER/NAME.pt2, with one run beside it, NAME.io; `dimscope run --vectors` computes the same, and
`dimscope check` finds no operator without a rule. Draws are made again with every op sharded in
every way; of cases in TRAINED the gradients are torch's too, under every such sharding. A line for each case: "ok NAME", "not ok NAME: why".
"""
import json
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


# windows, borders, blocks
CASES |= {
    "unfold": (lambda x: x.unfold(1, 3, 2), [f(2, 8, 3)]),
    "unfold_tiles": (lambda x: x.unfold(-1, 4, 4), [f(2, 3, 8)]),
    "unfold_first": (lambda x: x.unfold(0, 2, 1).unfold(1, 3, 3), [i(9, 4, 7)]),
    "im2col": (lambda x: F.unfold(x, 3, padding=1, stride=2), [f(2, 3, 7, 6)]),
    "im2col_dilation": (lambda x: F.unfold(x, (2, 3), dilation=(2, 1)), [f(3, 7, 6)]),
    "col2im": (lambda x: F.fold(x, (6, 5), (2, 3), padding=1, stride=(2, 1)), [f(2, 18, 20)]),
    "col2im_unbatched": (lambda x: F.fold(x, 4, 2, dilation=2), [f(8, 4)]),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), [f(2, 3, 4, 6)]),
    "pixel_unshuffle_3d": (lambda x: F.pixel_unshuffle(x, 3), [f(2, 6, 9)]),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 3), [f(2, 6, 3, 2)]),
    **{f"{name}_pad{n}d": (lambda x, name=name, n=n: getattr(aten, f"{name}_pad{n}d")(
        x, [1, 2, 0, 1, 2, 0][:2 * n]), [f(2, 3, *[4, 5, 3][:n])])
       for name in ("reflection", "replication") for n in (1, 2, 3)},
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (3, 2), True), [f(2, 3, 7, 6)]),
    "adaptive_max_pool2d_3": (lambda x: F.adaptive_max_pool2d(x, (7, 4)), [f(3, 7, 5)]),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, (2, 3, 2)), [f(1, 2, 5, 4, 3)]),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, (2, 3, 2)), [f(1, 2, 5, 4, 3)]),
    "max_pool2d_places": (lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), [f(2, 3, 8, 7)]),
    "max_pool3d_places": (lambda x: F.max_pool3d(x, 2, return_indices=True), [f(2, 2, 4, 6, 5)]),
    "max_unpool2d": (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
                     [f(2, 3, 6, 4)]),
    "max_unpool3d": (lambda x: F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2),
                     [f(3, 4, 6, 4)]),
}
# diagonals, matrices, parts
CASES |= {
    "diagonal": (torch.diagonal, [f(4, 5)]),
    "diagonal_offset": (lambda x: x.diagonal(1, -1, 0), [f(5, 2, 4)]),
    "diagonal_below": (lambda x: x.diagonal(-2), [i(9, 4, 4)]),
    "diagonal_none": (lambda x: x.diagonal(5), [f(4, 4)]),
    "diag_line": (torch.diag, [f(4)]), "diag_line_up": (lambda x: torch.diag(x, 2), [i(9, 3)]),
    "diag_matrix": (lambda x: torch.diag(x, -1), [f(4, 5)]),
    "diag_embed": (torch.diag_embed, [f(2, 3)]),
    "diag_embed_dims": (lambda x: torch.diag_embed(x, -2, 0, 2), [f(2, 3)]),
    "diagonal_scatter": (torch.diagonal_scatter, [f(3, 4), f(3)]),
    "diagonal_scatter_dims": (lambda x, y: torch.diagonal_scatter(x, y, -1, 2, 0),
                              [f(5, 2, 4), f(2, 3)]),
    "trace": (torch.trace, [f(4, 5)]), "trace_int": (torch.trace, [i(9, 4, 3)]),
    "block_diag": (torch.block_diag, [f(2, 3), f(4), i(9, 3, 1), f()]),
    "tril_indices": (lambda x: torch.tril_indices(3, 4, -1) + x, [i(9, 1)]),
    "triu_indices": (lambda x: torch.triu_indices(3, 4, 1) + x, [i(9, 1)]),
    **{f"rot90_{k}": (lambda x, k=k: torch.rot90(x, k, (0, -1)), [f(3, 2, 4)])
       for k in (-1, 1, 2, 4)},
    "cross": (torch.linalg.cross, [f(4, 3), f(4, 3)]),
    "cross_dim": (lambda x, y: torch.linalg.cross(x, y, dim=0), [f(3, 4), f(3, 1)]),
    "addbmm": (lambda x, y, z: torch.addbmm(x, y, z, beta=0.5, alpha=2),
               [f(3, 5), f(2, 3, 4), f(2, 4, 5)]),
    "inv": (torch.linalg.inv, [f(2, 3, 3) + 3 * torch.eye(3)]),
    "inv_ex": (lambda x: torch.linalg.inv_ex(x), [f(2, 3, 3) + 3 * torch.eye(3)]),
    "det": (torch.linalg.det, [f(2, 3, 3)]), "matrix_power": (lambda x: x.matrix_power(5), [f(3, 3)]),
    "multi_dot": (lambda *x: torch.linalg.multi_dot(x), [f(2, 3), f(3, 4), f(4, 2)]),
    "kron": (torch.kron, [f(2, 3), f(4, 2)]), "kron_ranks": (torch.kron, [f(2), f(3, 2)]),
    "tensor_split": (lambda x: x.tensor_split(3, 1), [f(2, 7)]),
    "tensor_split_at": (lambda x: x.tensor_split((1, 4), 0), [f(6, 2)]),
    "hsplit": (lambda x: x.hsplit(2), [f(3, 4)]), "vsplit": (lambda x: x.vsplit((1,)), [f(3, 4)]),
    "dsplit": (lambda x: x.dsplit(2), [f(1, 2, 4)]),
    "unsafe_chunk": (lambda x: x.unsafe_chunk(2, -1), [f(3, 5)]),
    "vstack": (lambda *x: torch.vstack(x), [f(3), f(2, 3)]),
    "hstack": (lambda *x: torch.hstack(x), [f(3), i(9, 2)]),
    "dstack": (lambda *x: torch.dstack(x), [f(2, 3), f(2, 3)]),
    "column_stack": (lambda *x: torch.column_stack(x), [f(3), f(3, 2)]),
    "atleast_3d": (torch.atleast_3d, [f(3, 2)]),
    "atleast_2d": (lambda *x: torch.atleast_2d(x), [f(3), f()]),
    "cartesian_prod": (torch.cartesian_prod, [i(9, 3), i(9, 2)]),
    "moveaxis": (lambda x: x.moveaxis(0, -1), [f(2, 3, 4)]),
    "pad_sequence": (lambda *x: torch.nn.utils.rnn.pad_sequence(x, True, 2.0), [f(3, 2), f(5, 2)]),
    "pad_sequence_left": (lambda *x: torch.nn.utils.rnn.pad_sequence(x, padding_side="left"),
                          [i(9, 3), i(9, 1)]),
}
# folds, order, searches
CASES |= {
    "std_mean": (lambda x: torch.std_mean(x, 1, keepdim=True), [f(3, 4)]),
    "aminmax": (lambda x: torch.aminmax(x, dim=-1), [f(3, 4)]),
    "aminmax_all": (torch.aminmax, [i(9, 3, 4)]),
    "count_nonzero": (torch.count_nonzero, [i(3, 3, 4)]),
    "count_nonzero_dim": (lambda x: torch.count_nonzero(x, (0, -1)), [f(3, 4, 2).relu()]),
    "nansum": (lambda x: torch.nansum(torch.where(x > 0, x, float("nan")), -1), [f(3, 4)]),
    "nanmean": (lambda x: torch.nanmean(torch.where(x > -1, x, float("nan")), 1, True), [f(3, 9)]),
    "norm_p": (lambda x: torch.norm(x, 3, -1), [f(3, 4)]), "norm_all": (torch.norm, [f(3, 4)]),
    "norm_0": (lambda x: torch.linalg.vector_norm(x, 0, 1), [f(3, 4).relu()]),
    "norm_inf": (lambda x: torch.linalg.norm(x, float("-inf"), 1), [f(3, 4)]),
    "norm_fro": (lambda x: torch.linalg.matrix_norm(x, keepdim=True), [f(2, 3, 4)]),
    "norm_numpy": (torch.linalg.norm, [f(2, 3, 4)]),
    "dist": (lambda x, y: torch.dist(x, y, 3), [f(3, 4), f(4)]),
    "pdist": (F.pdist, [f(5, 3)]), "pdist_1": (lambda x: F.pdist(x, 1), [f(4, 3)]),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 1.5), [f(4, 5)]),
    "cummax": (lambda x: torch.cummax(x, 1), [f(3, 6, 2)]),
    "cummax_ties": (lambda x: torch.cummax(x, -1), [i(3, 3, 9)]),
    "cummin": (lambda x: torch.cummin(x, 0), [i(5, 7, 2)]),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), [f(3, 6) * 20]),
    "kthvalue": (lambda x: torch.kthvalue(x, 3), [f(4, 6)]),
    "kthvalue_dim": (lambda x: torch.kthvalue(x, 2, 0, True), [f(5, 3)]),
    "median": (torch.median, [f(3, 4)]), "median_odd": (torch.median, [i(9, 5)]),
    "median_dim": (lambda x: torch.median(x, -1), [f(4, 6)]),
    "median_nan": (lambda x: torch.median(torch.where(x > 0, x, float("nan"))), [f(3, 4)]),
    "nanmedian": (lambda x: torch.nanmedian(torch.where(x > 0, x, float("nan"))), [f(3, 5)]),
    "nanmedian_dim": (lambda x: torch.nanmedian(torch.where(x > 0, x, float("nan")), 1, True)[0],
                      [f(3, 5)]),
    "mode": (lambda x: torch.mode(x, 1)[0], [i(4, 5, 9)]),
    "mode_dim": (lambda x: torch.mode(x, 0, True), [i(2, 7, 3)]), "msort": (torch.msort, [f(4, 3)]),
    "bucketize": (torch.bucketize, [f(3, 4), torch.tensor([-1., 0., 0.5])]),
    "bucketize_right": (lambda x, y: torch.bucketize(x, y, right=True, out_int32=True),
                        [i(6, 3, 4), torch.tensor([1, 3, 4])]),
    "searchsorted": (torch.searchsorted, [f(3, 6).sort()[0], f(3, 2)]),
    "searchsorted_right": (lambda x, y: torch.searchsorted(x, y, side="right"),
                           [torch.tensor([1, 3, 3, 7]), i(9, 2, 3)]),
    "searchsorted_sorter": (lambda x, y, z: torch.searchsorted(x, y, sorter=z),
                            [torch.tensor([3., 1., 2.]), f(4), torch.tensor([1, 2, 0])]),
    "isin": (torch.isin, [i(9, 3, 4), i(9, 2, 2)]),
    "isin_not": (lambda x, y: torch.isin(x, y, invert=True), [i(9, 5), i(9, 2)]),
    "isin_scalar": (lambda x: torch.isin(x, 3), [i(5, 7)]),
    "bincount": (lambda x: torch.bincount(x, minlength=9), [i(7, 12)]),
    "bincount_weights": (lambda x, y: torch.bincount(x, y), [i(7, 12), f(12)]),
    "unique_consecutive": (lambda x: torch.unique_consecutive(x, True, True), [i(2, 12)]),
    "nonzero_numpy": (lambda x: torch.nonzero(x, as_tuple=True), [i(2, 4, 5)]),
    "masked_scatter": (lambda x, m, y: x.masked_scatter(m, y), [f(3, 4), b(3, 4), f(20)]),
    "masked_scatter_wide": (lambda x, m, y: x.masked_scatter(m, y), [f(3, 4), b(4), f(3, 4)]),
}
# special functions
ODD = torch.tensor([0., -0., float("inf"), float("-inf"), float("nan"), 1.5, -2.])
CASES |= {
    **{"special_" + name: (getattr(torch.special, name), [f(5, 4) * 3]) for name in
       "i0 i0e i1 i1e erfcx erf erfc expm1 entr ndtr log_ndtr sinc digamma".split()},
    "special_i0e_far": (torch.special.i0e, [f(9) * 100]), "special_i1_far": (torch.special.i1, [f(9) * 30]),
    "special_entr_odd": (torch.special.entr, [torch.tensor([0., -1., 2.])]),
    "special_ndtri": (torch.special.ndtri, [torch.rand(9, generator=g)]),
    "special_log_ndtr_far": (torch.special.log_ndtr, [f(9) * 10]),
    "special_gammaln": (torch.special.gammaln, [pos(9)]), "special_log1p": (torch.special.log1p, [pos(9)]),
    **{f"polygamma_{n}": (lambda x, n=n: torch.polygamma(n, x), [pos(9) * 2]) for n in (0, 1, 2, 4)},
    "digamma_below": (torch.digamma, [f(9) * 3]),
    "mvlgamma": (lambda x: torch.mvlgamma(x, 3), [pos(9) + 2]),
    "igamma": (torch.igamma, [pos(30) * 4, pos(30) * 4]),
    "igammac": (torch.igammac, [pos(30) * 4, pos(30) * 4]),
    "zeta": (torch.special.zeta, [pos(9) + 1, pos(9)]),
    "xlog1py": (torch.special.xlog1py, [f(9).relu(), pos(9)]),
    "xlog1py_odd": (torch.special.xlog1py, [torch.tensor([0., 0., 1.]), torch.tensor([-1., 2., -1.])]),
    "xlogy_zeros": (torch.xlogy, [f(9).relu(), pos(9)]),
    "nextafter": (torch.nextafter, [f(9), f(9)]), "gcd": (torch.gcd, [i(40, 9) - 20, i(40, 9) - 20]),
    "lcm": (torch.lcm, [i(40, 9) - 20, i(40, 9) - 20]),
    "shift_right": (lambda x, y: x >> y, [i(99, 9) - 50, i(4, 9)]),
    "shift_right_scalar": (lambda x: torch.bitwise_right_shift(x, 2), [i(99, 9) - 50]),
    "logaddexp2": (torch.logaddexp2, [f(9), f(9) * 5]), "absolute": (torch.absolute, [f(4)]),
    "nan_to_num": (torch.nan_to_num, [ODD]),
    "nan_to_num_given": (lambda x: torch.nan_to_num(x, 1.0, 2.0, -3.0), [ODD]),
    "signbit": (torch.signbit, [ODD[:4]]), "signbit_int": (torch.signbit, [i(9, 5) - 4]),
    "isposinf": (torch.isposinf, [ODD]), "isneginf": (torch.isneginf, [ODD]),
    "frexp": (torch.frexp, [torch.cat((f(9) * 30, torch.tensor([0., 1., 8., 0.125, 7.9999995])))]),
    **{f"{name}_{n}": (lambda x, name=name, n=n: getattr(torch.special, name)(x, n), [f(9)])
       for name in ("chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v "
                    "chebyshev_polynomial_w shifted_chebyshev_polynomial_t hermite_polynomial_h "
                    "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p").split()
       for n in (0, 1, 4)},
    "shifted_chebyshev_w": (lambda x: torch.special.shifted_chebyshev_polynomial_w(x, 3), [f(9)]),
}


# matrices, losses and other names
SQUARE = f(2, 3, 3) + 3 * torch.eye(3)
CASES |= {
    "solve": (torch.linalg.solve, [SQUARE, f(2, 3, 4)]),
    "solve_line": (torch.linalg.solve, [SQUARE[0], f(3)]),
    "solve_right": (lambda a, y: torch.linalg.solve(a, y, left=False), [SQUARE[0], f(2, 3)]),
    "solve_triangular": (lambda a, y: torch.linalg.solve_triangular(a, y, upper=True),
                         [SQUARE, f(2, 3, 4)]),
    "solve_triangular_unit": (lambda a, y: torch.linalg.solve_triangular(
        a, y, upper=False, left=False, unitriangular=True), [SQUARE[0], f(4, 3)]),
    "triangular_solve": (lambda y, a: torch.triangular_solve(y, a, False, True), [f(3, 2), SQUARE[0]]),
    "cholesky_inverse": (torch.cholesky_inverse, [SQUARE[0].tril()]),
    "cholesky_solve": (lambda y, a: torch.cholesky_solve(y, a, upper=True), [f(3, 2), SQUARE[1].triu()]),
    "matrix_exp": (torch.linalg.matrix_exp, [f(2, 3, 3)]),
    "logdet": (torch.logdet, [SQUARE]), "slogdet": (torch.linalg.slogdet, [f(2, 3, 3)]),
    "rnn_relu": (lambda x, h, *w: aten.rnn_relu.input(x, h, list(w), True, 1, 0.0, False, True, True),
                 [f(2, 5, 4), f(2, 2, 3), *gates(1, 2)]),
    "poisson_loss": (F.poisson_nll_loss, [f(4, 3), pos(4, 3)]),
    "poisson_loss_full": (lambda x, y: F.poisson_nll_loss(x, y, False, True), [pos(9), pos(9) * 3]),
    "cosine_loss": (lambda x, y, t: F.cosine_embedding_loss(x, y, t, 0.1), [f(4, 6), f(4, 6), i(2, 4) * 2 - 1]),
    "multi_margin_loss": (F.multi_margin_loss, [f(4, 5), i(5, 4)]),
    "multi_margin_loss_2": (lambda x, t, w: F.multi_margin_loss(x, t, 2, 0.5, w, reduction="none"),
                            [f(4, 5), i(5, 4), pos(5)]),
    "round_decimals": (lambda x: torch.round(x, decimals=2), [f(9) * 9]),
    "round_tens": (lambda x: torch.round(x, decimals=-1), [f(9) * 90]),
    "special_round": (torch.special.round, [f(9) * 9]),
    "special_softmax": (lambda x: torch.special.softmax(x, 1), [f(3, 4)]),
    "ravel": (torch.ravel, [f(2, 3)]), "fliplr": (torch.fliplr, [f(2, 3)]), "flipud": (torch.flipud, [f(3, 2)]),
    "as_strided_scatter": (lambda x, y: torch.as_strided_scatter(x, y, (2, 2), (1, 2), 1), [f(3, 3), f(2, 2)]),
    "index_reduce": (lambda x, k, s: x.index_reduce(0, k, s, "amax"), [f(3, 5), i(3, 4), f(4, 5)]),
    "index_reduce_prod": (lambda x, k, s: x.index_reduce(1, k, s, "prod"), [f(3, 5), i(5, 4), f(3, 4)]),
    "logspace": (lambda x: x * torch.logspace(-1, 2, 4), [f(4)]),
    "logspace_base": (lambda x: x * torch.logspace(0, 3, 7, base=2.0), [f(7)]),
    "item": (lambda x, y: x * y.item(), [f(3), f()]),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 3), [f(2, 3, 7)]),
}

# draws: the numbers are not torch's, so each case says what is true of any of them
def _mean(x, want, spread=0.05):
    return (x.float().mean() - want).abs() < spread


def _bounds(x, low, high):
    return ((x >= low) & (x < high)).all()


N = 40000
DRAWS = {
    "randn": (lambda x: (_mean(y := torch.randn(8, N // 8) + x, 0), _mean(y * y, 1)), [f(1) * 0]),
    "rand": (lambda x: (_mean(y := torch.rand(8, N // 8) * x, 0.5), _bounds(y, 0, 1)), [f(1) * 0 + 1]),
    "randn_like": (lambda x: (_mean(y := torch.randn_like(x), 0), _mean(y.abs(), 0.798)), [f(8, N // 8)]),
    "rand_like": (lambda x: (_mean(y := torch.rand_like(x), 0.5), _bounds(y, 0, 1)), [f(8, N // 8)]),
    "randint": (lambda x: (_mean(y := torch.randint(9, (N,)) + x, 4), _bounds(y, 0, 9)), [i(1, 1)]),
    "randint_low": (lambda x: (_mean(y := torch.randint(-3, 4, (N,)) + x, 0), _bounds(y, -3, 4)), [i(1, 1)]),
    "randint_like": (lambda x: (_mean(y := torch.randint_like(x, 2, 5), 3), _bounds(y, 2, 5)), [f(N)]),
    "randperm": (lambda x: ((y := torch.randperm(50) + x).sort()[0] == torch.arange(50),
                            (y == torch.arange(50)).all()), [i(1, 1)]),
    "bernoulli": (lambda x: (_mean(y := torch.bernoulli(x), 0.5), (y * y == y).all()),
                  [torch.rand(N, generator=g)]),
    "bernoulli_p": (lambda x: (_mean(y := torch.bernoulli(x, 0.2), 0.2), (y * y == y).all()), [f(N)]),
    "bernoulli_": (lambda x: _mean((x + 0).bernoulli_(0.7), 0.7), [f(N)]),
    "multinomial": (lambda x: _mean(torch.multinomial(x, 1, True), 1.6, 0.2),
                    [torch.tensor([[1., 2., 7.]]).expand(3000, 3)]),
    "multinomial_once": (lambda x: torch.multinomial(x, 4).sort()[0], [pos(3, 4)]),
    "multinomial_line": (lambda x: torch.multinomial(x, 2).sort()[0], [torch.tensor([0., 2., 0., 3.])]),
    "normal": (lambda x: (_mean(y := torch.normal(x, 2.0), 3), _mean((y - 3) ** 2, 4, 0.2)), [f(N) * 0 + 3]),
    "normal_std": (lambda x: _mean(torch.normal(1.0, x).abs(), 1, 0.1), [f(N) * 0 + 1e-6]),
    "normal_": (lambda x: _mean((x + 0).normal_(2.0, 0.5), 2), [f(N)]),
    "uniform_": (lambda x: (_mean(y := (x + 0).uniform_(-1, 3), 1), _bounds(y, -1, 3)), [f(N)]),
    "exponential_": (lambda x: _mean((x + 0).exponential_(2.0), 0.5), [f(N)]),
    "log_normal_": (lambda x: _mean((x + 0).log_normal_(1.0, 0.5).log(), 1), [f(N)]),
    "cauchy_": (lambda x: _mean(((x + 0).cauchy_(2.0, 3.0) > 2.0), 0.5), [f(N)]),
    "geometric_": (lambda x: _mean((x + 0).geometric_(0.25), 4, 0.2), [f(N)]),
    "native_dropout": (lambda x: (_mean((y := aten.native_dropout.default(x, 0.25, True))[0], 1),
                                  _mean(y[1], 0.75), (y[0] * 0.75 == y[1].float()).all()), [f(N) * 0 + 1]),
    "native_dropout_off": (lambda x: aten.native_dropout.default(x, 0.25, False), [f(9)]),
}
CASES |= {"draw_" + name: case for name, case in DRAWS.items()}
# gradients of layers, as a joint graph has them
BOTH = [True, True, True]
CASES |= {
    **{f"convolution_backward_{name}": (lambda d, x, w, a=a: aten.convolution_backward.default(
        d, x, w, [w.shape[1 if a[3] else 0] * (a[5] if a[3] else 1)], *a, BOTH), shapes)
       for name, a, shapes in (
           ("plain", ([1, 1], [0, 0], [1, 1], False, [0, 0], 1), [f(2, 4, 5, 4), f(2, 3, 7, 6), f(4, 3, 3, 3)]),
           ("stride", ([2, 3], [1, 0], [1, 2], False, [0, 0], 1), [f(2, 4, 4, 1), f(2, 3, 8, 7), f(4, 3, 3, 3)]),
           ("groups", ([2, 1], [1, 1], [1, 1], False, [0, 0], 2), [f(2, 4, 4, 6), f(2, 6, 8, 6), f(4, 3, 3, 3)]),
           ("depthwise", ([1, 1], [1, 1], [1, 1], False, [0, 0], 6), [f(2, 6, 5, 5), f(2, 6, 5, 5), f(6, 1, 3, 3)]),
           ("line", ([2], [1], [1], False, [0], 1), [f(2, 4, 5), f(2, 3, 9), f(4, 3, 3)]),
           ("volume", ([1, 2, 1], [0, 0, 1], [1, 1, 1], False, [0, 0, 0], 1),
            [f(1, 3, 3, 2, 4), f(1, 2, 4, 5, 4), f(3, 2, 2, 2, 3)]),
           ("transposed", ([2, 2], [1, 1], [1, 1], True, [1, 0], 1), [f(2, 5, 8, 9), f(2, 3, 4, 5), f(3, 5, 3, 3)]),
           ("transposed_groups", ([2, 2], [0, 0], [1, 1], True, [0, 0], 2),
            [f(2, 4, 8, 8), f(2, 6, 4, 4), f(6, 2, 2, 2)]))},
    "convolution_backward_some": (lambda d, x, w: aten.convolution_backward.default(
        d, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False])[1],
        [f(2, 4, 5, 5), f(2, 3, 5, 5), f(4, 3, 3, 3)]),
    **{f"avg_pool2d_backward_{n}": (lambda d, x, a=a: aten.avg_pool2d_backward.default(d, x, *a), shapes)
       for n, (a, shapes) in enumerate((
           (([2, 2], [2, 2], [0, 0], False, True, None), [f(2, 3, 3, 4), f(2, 3, 6, 8)]),
           (([3, 2], [2, 1], [1, 1], False, False, None), [f(2, 3, 4, 8), f(2, 3, 8, 7)]),
           (([3, 3], [2, 2], [1, 1], True, True, None), [f(2, 3, 5, 5), f(2, 3, 8, 8)]),
           (([2, 2], [], [0, 0], False, True, 3), [f(3, 3, 3), f(3, 7, 6)])))},
    "adaptive_backward": (aten._adaptive_avg_pool2d_backward.default, [f(2, 3, 3, 2), f(2, 3, 7, 6)]),
    "adaptive_backward_1": (aten._adaptive_avg_pool2d_backward.default, [f(2, 3, 1, 1), f(2, 3, 4, 6)]),
    "max_pool2d_backward": (lambda d, x: aten.max_pool2d_with_indices_backward.default(
        d, x, [3, 3], [2, 2], [1, 1], [1, 1], False,
        aten.max_pool2d_with_indices.default(x, [3, 3], [2, 2], [1, 1])[1]), [f(2, 3, 4, 4), f(2, 3, 8, 7)]),
    "group_norm_backward": (lambda d, x, m, r, w: aten.native_group_norm_backward.default(
        d, x, m, r, w, 2, 6, 20, 3, BOTH), [f(2, 6, 4, 5), f(2, 6, 4, 5), f(2, 3), pos(2, 3), f(6)]),
    "batch_norm_backward": (lambda d, x, w, m, r: aten.native_batch_norm_backward.default(
        d, x, w, None, None, m, r, True, 1e-5, BOTH), [f(3, 4, 5), f(3, 4, 5), f(4), f(4), pos(4)]),
    "batch_norm_backward_fixed": (lambda d, x, w, m, v: aten.native_batch_norm_backward.default(
        d, x, w, m, v, None, None, False, 1e-5, BOTH), [f(3, 4, 5), f(3, 4, 5), f(4), f(4), pos(4)]),
    "native_dropout_backward": (lambda d, m: aten.native_dropout_backward.default(d, m, 2.0), [f(3, 4), b(3, 4)]),
    "mse_backward": (lambda d, x, y: aten.mse_loss_backward.default(d, x, y, 1), [f(), f(3, 4), f(3, 4)]),
    "mse_backward_none": (lambda d, x, y: aten.mse_loss_backward.default(d, x, y, 0), [f(3), f(3), f(3)]),
    "gelu_backward": (aten.gelu_backward.default, [f(9), f(9)]),
    "gelu_backward_tanh": (lambda d, x: aten.gelu_backward.default(d, x, approximate="tanh"), [f(9), f(9)]),
    "leaky_relu_backward": (lambda d, x: aten.leaky_relu_backward.default(d, x, 0.1, False), [f(9), f(9)]),
    "hardtanh_backward": (lambda d, x: aten.hardtanh_backward.default(d, x, -1, 1), [f(9), f(9)]),
    "hardsigmoid_backward": (aten.hardsigmoid_backward.default, [f(9), f(9) * 4]),
    "hardswish_backward": (aten.hardswish_backward.default, [f(9), f(9) * 4]),
    "softplus_backward": (lambda d, x: aten.softplus_backward.default(d, x, 2.0, 20.0), [f(9), f(9) * 9]),
    "log_sigmoid_backward": (lambda d, x: aten.log_sigmoid_backward.default(d, x, (-x.abs()).exp()), [f(9), f(9)]),
}

# differentiated: gradients are compared with torch's, also with every op sharded in every way
TRAINED = set("""
unfold unfold_tiles im2col col2im pixel_unshuffle channel_shuffle reflection_pad2d replication_pad3d
adaptive_max_pool2d_3 adaptive_avg_pool3d max_unpool2d diagonal_offset diag_line diag_matrix
diag_embed_dims diagonal_scatter_dims trace block_diag rot90_1 cross addbmm inv det matrix_power kron
multi_dot tensor_split hstack pad_sequence std_mean nansum norm_p norm_fro dist pdist renorm cummax
logcumsumexp kthvalue median median_dim masked_scatter special_i0 special_i0e special_i1 special_i1e
rnn_relu solve solve_triangular cholesky_solve matrix_exp logdet poisson_loss cosine_loss
multi_margin_loss index_reduce special_erfcx special_ndtr special_log_ndtr digamma_below polygamma_1 mvlgamma xlog1py
xlogy_zeros logaddexp2
""".split())


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


def save_gradients(name, function, inputs, folder):
    """The gradients of inputs of floats, for a sum of outputs times random numbers."""
    data = os.path.join(folder, name + ".grad")
    os.makedirs(data, exist_ok=True)
    signature = torch.export.load(os.path.join(folder, name + ".pt2")).graph_signature
    leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    out = function(*leaves)
    out = [out] if isinstance(out, torch.Tensor) else list(out)
    index = {"model": name + ".pt2", "inputs": [], "outputs": [], "grads": []}
    loss = 0

    def add(rows, key, label, file, tensor):
        index[rows].append({"name": label, key: file + ".npy"})
        np.save(os.path.join(data, file + ".npy"), tensor.detach().numpy())

    for at, (label, tensor) in enumerate(zip(signature.user_outputs, out)):
        if tensor.is_floating_point() and tensor.requires_grad:
            weight = f(*tensor.shape)
            loss = loss + (weight * tensor).sum()
            add("outputs", "cotangent", label, f"cotangent_{at}", weight)
    loss.backward()
    for at, (label, x) in enumerate(zip(signature.user_inputs, leaves)):
        add("inputs", "file", label, f"in_{at}", x)
        if x.requires_grad:
            add("grads", "file", label, f"grad_{at}", x.grad)
    with open(os.path.join(data, "index.json"), "w", encoding="utf-8") as file:
        json.dump(index, file)


def main():
    dimscope, folder = sys.argv[1:3]
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    failed = 0
    drawn = {"draw_" + name for name in DRAWS}
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
        if name in drawn and done.returncode == 0:  # the same numbers, however ops are sharded
            done = subprocess.run([dimscope, "run", path + ".pt2", "--vectors", path + ".io", "-m",
                                   "x=2", "--cuts", "all"], capture_output=True, text=True, check=False)
        if name in TRAINED and done.returncode == 0:
            save_gradients(name, function, inputs, folder)
            done = subprocess.run([dimscope, "run", path + ".pt2", "--grad-vectors", path + ".grad",
                                   "-m", "x=2", "--cuts", "all"], capture_output=True, text=True,
                                  check=False)
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

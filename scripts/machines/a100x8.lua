-- a100x8: nodes of eight A100 SXM4 80 GB, NVLink 3 inside, one 200 Gb/s port a GPU between.
--
-- flops, memory, NVLink: NVIDIA A100 Tensor Core GPU data sheet, SXM4 80 GB column, dense. f32 is
--   the plain FP32 rate: TF32 (156e12) is off by default for matmuls in PyTorch since 1.12. Vector
--   rates: NVIDIA A100 architecture paper, non-tensor.
-- NVLink: 600 GB/s both ways together, 300 GB/s one way; NCCL counts 12 x 20 GB/s and finds 12
--   channels of 20. InfiniBand HDR: 200 Gb/s = 25 GB/s, to NCCL one channel of 24.
-- nccl: tuning.cc and search.cc, for an AMD host. This switch does not add: no NVLS.
-- matmul_share: large bf16 matmuls reach 0.85 of the peak (S. Bekman, Machine Learning
--   Engineering). matmul_share_16: 0.82, between that and 0.75, which Vidur's measured tables of one
--   A100 give (microsoft/vidur, MIT, data/profiling/compute/a100: 4096 tokens at most).
-- attention_share, attention_gradient_share: FlashAttention 1 reaches 0.3 to 0.5 forward and 0.25 to
--   0.35 backward, FlashAttention 2 0.7 and 0.6 (Dao 2023, arXiv 2307.08691): the first.
-- norm_share, function_share: PyTorch's LayerNorm and vLLM's SwiGLU in Vidur's tables. The rest as
--   lib/nvidia.lua says.
local nvidia = include "lib/nvidia"

return nvidia.with(nvidia.nvlink, {
    name = "a100x8",
    source = "NVIDIA A100 SXM4 80GB data sheet; NCCL 2026-06 tuning.cc",
    memory_bytes = 80e9,
    memory_bytes_per_s = 2.039e12,
    flops_per_s = {
        f64 = 19.5e12, f32 = 19.5e12, f16 = 312e12, bf16 = 312e12, i8 = 624e12,
    },
    vector_flops_per_s = {f64 = 9.7e12, f32 = 19.5e12, f16 = 78e12, bf16 = 39e12},
    matmul_share = .85, matmul_share_16 = .82, attention_share = .4, attention_gradient_share = .3,
    norm_share = .48, function_share = .57, processors = 108,
    inside = {bytes_per_s = 300e9, channels = 12, channel_bytes_per_s = 20e9},
    between = {bytes_per_s = 25e9, channel_bytes_per_s = 24e9},
    nccl = {
        post_us = 2,
        ll_bytes_per_s = {87.7e9, 22.5e9, 19e9},
        ring_ll128_channel_bytes_per_s = {20e9, 20e9, 20e9},
        tree_channel_bytes_per_s = {24e9, 23.6e9, 17.8e9},
        tree_ll128_channel_bytes_per_s = {20e9, 20e9, 20e9},
    },
})

-- h100x8: nodes of eight H100 SXM5 80 GB, NVLink inside, one 400 Gb/s port a GPU between.
--
-- flops, memory, NVLink: NVIDIA H100 Tensor Core GPU data sheet, SXM5 column, dense (the data sheet
--   prints twice as much for tensor cores, with sparsity). f32 is the plain FP32 rate: frameworks
--   multiply f32 in full precision unless TF32 (495e12) is switched on. Vector rates: NVIDIA H100
--   architecture paper, non-tensor.
-- NVLink: 900 GB/s both ways together, 450 GB/s one way; NCCL counts 18 x 20.6 GB/s and finds 12
--   channels of 30.
-- nccl: tuning.cc and search.cc; NVLS: eight heads of 40 GB/s, which gives the 480 GB/s of bus
--   bandwidth that its maintainers name (nccl-tests issue 212).
-- matmul_share: large matmuls alone reach 0.8 of the peak (S. Bekman, Machine Learning
--   Engineering). matmul_share_16: Vidur's measured tables of one H100 (microsoft/vidur, MIT,
--   data/profiling/compute/h100: projections of six models, 16 to 4096 tokens) give 0.74 with the
--   waves and matmul_us of lib/nvidia.lua, one matmul at a time. Whole steps are slower, under load
--   the clock drops; by how much depends on power and cooling. 0.68 is chosen on every other one of
--   MosaicML's rows of MPT with sequences of 2048 and checked on the rest of that table alone.
-- attention_share, attention_gradient_share: FlashAttention 2 reaches 0.35 and 0.3 on an H100 (Dao
--   2023, arXiv 2307.08691; Shah et al. 2024, arXiv 2407.08608), FlashAttention 1 and Triton's kernel
--   on an A100 0.57 and 0.5 of what it does: taken between the two, not measured here. MosaicML's
--   rows, from before torch 2.0, are of such a kernel; where it is known to be a later one,
--   h100x8_fa2 and h100x8_fa3 say so.
-- norm_share, function_share: PyTorch's LayerNorm and GELU in the same tables reach 0.6 and 0.35,
--   vLLM's RMSNorm and SwiGLU 0.74 and 0.58. The norm's here is the A100's, since backward kernels,
--   which the tables lack, are slower. The rest as lib/nvidia.lua says.
local nvidia = include "lib/nvidia"

return nvidia.with(nvidia.nvls, {
    name = "h100x8",
    source = "NVIDIA H100 SXM5 data sheet; NCCL 2026-06 tuning.cc",
    memory_bytes = 80e9,
    memory_bytes_per_s = 3.35e12,
    flops_per_s = {
        f64 = 67e12, f32 = 67e12, f16 = 989.4e12, bf16 = 989.4e12,
        f8e4m3fn = 1978.9e12, f8e5m2 = 1978.9e12, i8 = 1978.9e12,
    },
    vector_flops_per_s = {f64 = 34e12, f32 = 67e12, f16 = 134e12, bf16 = 134e12},
    matmul_share = .8, matmul_share_16 = .68,
    attention_share = .23, attention_gradient_share = .18,
    norm_share = .48, function_share = .58, processors = 132,
    inside = {bytes_per_s = 450e9, channels = 12, channel_bytes_per_s = 30e9},
    nccl = {
        nvls_share = .85, nvls_channel_bytes_per_s = 40e9,
        ll_bytes_per_s = {141e9, 39e9, 20.4e9},
        ring_ll128_channel_bytes_per_s = {36.7e9, 36.7e9, 36.7e9},
        tree_channel_bytes_per_s = {38.7e9, 41.4e9, 36e9},
        tree_ll128_channel_bytes_per_s = {36.7e9, 36.7e9, 29e9},
        nvls_tree_channel_bytes_per_s = {0, 57.7e9, 45.5e9},
    },
})

-- b200x8: nodes of eight B200 180 GB, NVLink 5 inside, one 400 Gb/s port a GPU between.
--
-- flops, memory, NVLink: NVIDIA HGX B200 and DGX B200 data sheets, an eighth of the node, dense.
--   f32 is the plain FP32 rate (TF32, when switched on, is 1.1e15).
-- NVLink: 1800 GB/s both ways together, 900 GB/s one way; NCCL counts 18 x 40.1 GB/s and finds 16
--   channels of 45.
-- nccl: tuning.cc and search.cc; NVLS: eight heads of 80 GB/s, which gives the 830 GB/s of bus
--   bandwidth that owners measure (NCCL issue 1807).
-- matmul_share: large bf16 matmuls reach 0.78 of the peak (S. Bekman, Machine Learning
--   Engineering). The rest as lib/nvidia.lua says.
local nvidia = include "lib/nvidia"

return nvidia.with(nvidia.nvls, {
    name = "b200x8",
    source = "NVIDIA DGX B200 data sheet; NCCL 2026-06 tuning.cc",
    memory_bytes = 180e9,
    memory_bytes_per_s = 8e12,
    flops_per_s = {
        f64 = 37e12, f32 = 75e12, f16 = 2.25e15, bf16 = 2.25e15,
        f8e4m3fn = 4.5e15, f8e5m2 = 4.5e15, i8 = 4.5e15,
    },
    vector_flops_per_s = {f64 = 37e12, f32 = 75e12, f16 = 150e12, bf16 = 150e12},
    matmul_share = .78,
    inside = {bytes_per_s = 900e9, channels = 16, channel_bytes_per_s = 45e9},
    nccl = {
        nvls_share = .74, nvls_channel_bytes_per_s = 80e9,
        ll_bytes_per_s = {282e9, 39e9, 20.4e9},
        ring_ll128_channel_bytes_per_s = {40e9, 40e9, 40e9},
        tree_channel_bytes_per_s = {70e9, 42.8e9, 24e9},
        tree_ll128_channel_bytes_per_s = {55.6e9, 31.67e9, 20e9},
        nvls_tree_channel_bytes_per_s = {0, 96e9, 80e9},
    },
})

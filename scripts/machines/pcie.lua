-- pcie: a server of eight L40S 48 GB on PCIe 4, no NVLink, two 100 Gb/s ports between.
--
-- flops, memory: NVIDIA L40S data sheet, dense; f64 is 1/64 of f32.
-- inside: a x16 slot of PCIe 4 carries 31.5 GB/s one way, 24 to NCCL. Pairs of GPUs hang on a
--   switch with one x16 way up to the host: what crosses the host shares 4 x 24 GB/s.
-- between: two ports of 100 Gb/s for all eight, on slots of their own.
-- nccl: PCI rows of tuning.cc. NCCL does not use LL128 over PCIe, and there is no switch that adds.
-- processors: 18,176 CUDA cores, 128 each. matmul_share: as of larger cards, a round number. The rest
--   as lib/nvidia.lua says.
local nvidia = include "lib/nvidia"

return nvidia.with(nvidia.server, {
    name = "pcie",
    source = "NVIDIA L40S data sheet; NCCL 2026-06 tuning.cc",
    memory_bytes = 48e9,
    memory_bytes_per_s = 864e9,
    flops_per_s = {
        f64 = 1.4e12, f32 = 91.6e12, f16 = 362e12, bf16 = 362e12,
        f8e4m3fn = 733e12, f8e5m2 = 733e12, i8 = 733e12,
    },
    vector_flops_per_s = {f64 = 1.4e12, f32 = 91.6e12, f16 = 91.6e12, bf16 = 91.6e12},
    matmul_share = .8, processors = 142,
    inside = {
        name = "pcie", latency_us = 5.7, bytes_per_s = 31.5e9, shared_bytes_per_s = 96e9,
        channels = 2, channel_bytes_per_s = 12e9,
    },
    between = {
        name = "ethernet", latency_us = 14, bytes_per_s = 12.5e9, shared_bytes_per_s = 25e9,
        channels = 1, channel_bytes_per_s = 12e9,
    },
    nccl = {
        inside_us = {ring = {1, 0, 5.7}, tree = {1, 0, 4}},
        between_us = {ring = {2.7, 0, 14}, tree = {5, 0, 14}, pat = {0, 0, 14}},
        ll_bytes_per_s = {87.7e9, 39e9, 20.4e9},
        ring_ll128_channel_bytes_per_s = {20e9, 20e9, 20e9},
        tree_channel_bytes_per_s = {24e9, 23.6e9, 17.8e9},
        tree_ll128_channel_bytes_per_s = {20e9, 20e9, 20e9},
    },
})

-- gb200x72: racks of 72 GB200 186 GB, one NVLink 5 domain a rack, one 400 Gb/s port a GPU between.
--
-- flops, memory, NVLink: NVIDIA GB200 NVL72 data sheet, a 72nd of the rack, dense. f32 is the plain
--   FP32 rate (TF32, when switched on, is 1.25e15).
-- NVLink, nccl: of a GPU as in b200x8.lua, and the switches of a rack reduce as those of a node do.
--   NCCL's latencies are of eight ranks a node; on 72 they are the same hops, more of them.
-- matmul_share: as of b200x8.lua. The rest as lib/nvidia.lua says.
local nvidia = include "lib/nvidia"

return nvidia.with(nvidia.nvls, {
    name = "gb200x72",
    source = "NVIDIA GB200 NVL72 data sheet; NCCL 2026-06 tuning.cc",
    devices_per_node = 72,
    memory_bytes = 186e9,
    memory_bytes_per_s = 8e12,
    flops_per_s = {
        f64 = 40e12, f32 = 80e12, f16 = 2.5e15, bf16 = 2.5e15,
        f8e4m3fn = 5e15, f8e5m2 = 5e15, i8 = 5e15,
    },
    vector_flops_per_s = {f64 = 40e12, f32 = 80e12, f16 = 160e12, bf16 = 160e12},
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

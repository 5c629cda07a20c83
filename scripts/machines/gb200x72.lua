-- gb200x72: racks of 72 GB200 186 GB, one NVLink 5 domain a rack, one 400 Gb/s port a GPU between.
--
-- flops, memory, NVLink: NVIDIA GB200 NVL72 data sheet, a 72nd of the rack, dense. f32 is the plain
--   FP32 rate (TF32, when switched on, is 1.25e15).
-- nccl: the switches of a rack reduce as those of a node do. Its latencies are of a hop; a rack has
--   more of them. The rest as lib/nvidia.lua says.
local nvidia = include "lib/nvidia"

return nvidia.with(nvidia.blackwell, {
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
})

-- b200x8: nodes of eight B200 180 GB, NVLink 5 inside, one 400 Gb/s port a GPU between.
--
-- flops, memory, NVLink: NVIDIA HGX B200 and DGX B200 data sheets, an eighth of the node, dense.
--   f32 is the plain FP32 rate (TF32, when switched on, is 1.1e15). The rest as lib/nvidia.lua says.
local nvidia = include "lib/nvidia"

return nvidia.with(nvidia.blackwell, {
    name = "b200x8",
    source = "NVIDIA DGX B200 data sheet; NCCL 2026-06 tuning.cc",
    memory_bytes = 180e9,
    memory_bytes_per_s = 8e12,
    flops_per_s = {
        f64 = 37e12, f32 = 75e12, f16 = 2.25e15, bf16 = 2.25e15,
        f8e4m3fn = 4.5e15, f8e5m2 = 4.5e15, i8 = 4.5e15,
    },
    vector_flops_per_s = {f64 = 37e12, f32 = 75e12, f16 = 150e12, bf16 = 150e12},
})

-- h200x8: nodes of eight H200 SXM 141 GB: an H100's cores with more and faster memory.
--
-- flops, memory, NVLink: NVIDIA H200 Tensor Core GPU data sheet, SXM column, dense. f32 is the
--   plain FP32 rate (TF32, when switched on, is 495e12). The rest as h100x8.lua says.
local nvidia = include "lib/nvidia"

return nvidia.with(include "h100x8", {
    name = "h200x8",
    source = "NVIDIA H200 SXM data sheet; NCCL 2026-06 tuning.cc",
    memory_bytes = 141e9,
    memory_bytes_per_s = 4.8e12,
})

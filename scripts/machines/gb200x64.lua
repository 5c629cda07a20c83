-- gb200x64: gb200x72 with 64 GPUs a rack in use, so that groups of a power of two do not lie on two.
--
-- NVIDIA's own runs on GB200 have 64, 128 or 256 GPUs (Megatron-Bridge, docs/performance-summary.md).
local nvidia = include "lib/nvidia"

return nvidia.with(include "gb200x72", {
    name = "gb200x64",
    source = "NVIDIA GB200 NVL72 data sheet; NCCL 2026-06 tuning.cc; 64 GPUs a rack",
    devices_per_node = 64,
})

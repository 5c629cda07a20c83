-- a100x8: nodes of eight A100 SXM4 80 GB, NVLink 3 inside, one 200 Gb/s port a GPU between.
--
-- flops, memory, NVLink: NVIDIA A100 Tensor Core GPU data sheet, SXM4 80 GB column, dense. f32 is
--   the plain FP32 rate: TF32 (156e12) is off by default for matmuls in PyTorch since 1.12.
-- NVLink: 600 GB/s both ways together, 300 GB/s one way. InfiniBand HDR: 200 Gb/s = 25 GB/s.
-- latency_us, launch_us: as h100x8.lua says.
return {
    name = "a100x8",
    source = "NVIDIA A100 SXM4 80GB data sheet; NCCL tuning table",
    devices_per_node = 8,
    memory_bytes = 80e9,
    memory_bytes_per_s = 2.039e12,
    flops_per_s = {f64 = 19.5e12, f32 = 19.5e12, f16 = 312e12, bf16 = 312e12, i8 = 624e12},
    launch_us = 2.0,
    inside = {name = "nvlink", latency_us = 1.9, bytes_per_s = 300e9},
    between = {name = "infiniband", latency_us = 4.0, bytes_per_s = 25e9},
}

-- h200x8: nodes of eight H200 SXM 141 GB: an H100's cores with more and faster memory.
--
-- flops, memory, NVLink: NVIDIA H200 Tensor Core GPU data sheet, SXM column, dense. f32 is the plain
--   FP32 rate (TF32, when switched on, is 495e12). The rest as h100x8.lua says.
return {
    name = "h200x8",
    source = "NVIDIA H200 SXM data sheet; NCCL tuning table",
    devices_per_node = 8,
    memory_bytes = 141e9,
    memory_bytes_per_s = 4.8e12,
    flops_per_s = {
        f64 = 67e12, f32 = 67e12, f16 = 989.4e12, bf16 = 989.4e12,
        f8e4m3fn = 1978.9e12, f8e5m2 = 1978.9e12, i8 = 1978.9e12,
    },
    launch_us = 2.0,
    inside = {name = "nvlink", latency_us = 1.9, bytes_per_s = 450e9},
    between = {name = "infiniband", latency_us = 4.0, bytes_per_s = 50e9},
}

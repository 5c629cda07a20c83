-- h100x8: nodes of eight H100 SXM5 80 GB, NVLink inside, one 400 Gb/s port a GPU between.
--
-- flops, memory, NVLink: NVIDIA H100 Tensor Core GPU data sheet, SXM5 column, dense (the data sheet
--   prints twice as much for tensor cores, with sparsity). f32 is the plain FP32 rate: frameworks
--   multiply f32 in full precision unless TF32 (495e12) is switched on.
-- NVLink: 900 GB/s both ways together, 450 GB/s one way. InfiniBand NDR: 400 Gb/s = 50 GB/s.
-- latency_us: NCCL's tuning table (src/graph/tuning.cc, hwLat, ring, LL128): NVLink 1.9, net 4.0.
-- launch_us: what a kernel in a full queue costs beside its work, about 2 us.
return {
    name = "h100x8",
    source = "NVIDIA H100 SXM5 data sheet; NCCL tuning table",
    devices_per_node = 8,
    memory_bytes = 80e9,
    memory_bytes_per_s = 3.35e12,
    flops_per_s = {
        f64 = 67e12, f32 = 67e12, f16 = 989.4e12, bf16 = 989.4e12,
        f8e4m3fn = 1978.9e12, f8e5m2 = 1978.9e12, i8 = 1978.9e12,
    },
    launch_us = 2.0,
    inside = {name = "nvlink", latency_us = 1.9, bytes_per_s = 450e9},
    between = {name = "infiniband", latency_us = 4.0, bytes_per_s = 50e9},
}

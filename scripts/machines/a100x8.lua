-- a100x8: nodes of eight A100 SXM4 80 GB, NVLink 3 inside, one 200 Gb/s port a GPU between.
--
-- flops, memory, NVLink: NVIDIA A100 Tensor Core GPU data sheet, SXM4 80 GB column, dense. f32 is
--   the plain FP32 rate: TF32 (156e12) is off by default for matmuls in PyTorch since 1.12. Vector
--   rates: NVIDIA A100 architecture paper, non-tensor.
-- NVLink: 600 GB/s both ways together, 300 GB/s one way; NCCL counts 12 x 20 GB/s and finds 12
--   channels of 20. InfiniBand HDR: 200 Gb/s = 25 GB/s, to NCCL one channel of 24.
-- nccl: NCCL's own model, src/graph/tuning.cc and search.cc of 2026-06, for an AMD host. This
--   switch does not add: no NVLS.
-- matmul_share: large bf16 matmuls reach 0.85 of the peak (S. Bekman, Machine Learning
--   Engineering). The rest as h100x8.lua says.
return {
    name = "a100x8",
    source = "NVIDIA A100 SXM4 80GB data sheet; NCCL 2026-06 tuning.cc",
    devices_per_node = 8,
    memory_bytes = 80e9,
    memory_bytes_per_s = 2.039e12,
    flops_per_s = {
        f64 = 19.5e12, f32 = 19.5e12, f16 = 312e12, bf16 = 312e12, i8 = 624e12,
    },
    vector_flops_per_s = {f64 = 9.7e12, f32 = 19.5e12, f16 = 78e12, bf16 = 39e12},
    matmul_share = .85, memory_share = .9, gather_share = .5,
    launch_us = 2,
    inside = {
        name = "nvlink", latency_us = 1.9, bytes_per_s = 300e9,
        channels = 12, channel_bytes_per_s = 20e9,
    },
    between = {
        name = "infiniband", latency_us = 4, bytes_per_s = 25e9,
        channels = 1, channel_bytes_per_s = 24e9,
    },
    nccl = { -- of LL, LL128 and Simple; or of one node, two, more
        base_us = {ring = {6.6, 14, 8.4}, tree = {6.8, 14, 8.4}, pat = {0, 0, 8}},
        inside_us = {
            ring = {.6, 1.9, 3.4}, tree = {.6, 1.25, 4},
        },
        between_us = {
            ring = {2.7, 4, 14}, tree = {5, 8.5, 14}, pat = {0, 0, 14},
        },
        post_us = 2, plateau = 1.4,
        ring_ll_share = .5, ring_ll128_share = .92,
        tree_share = .92, tree_ll_share = 1 / 3.8,
        tree_ll128_share = 7 / 9, tree_ll128_share_between = 120 / 128, pat_share = .75,
        ll_bytes_per_s = {87.7e9, 22.5e9, 19e9},
        ring_ll128_channel_bytes_per_s = {20e9, 20e9, 20e9},
        tree_channel_bytes_per_s = {24e9, 23.6e9, 17.8e9},
        tree_ll128_channel_bytes_per_s = {20e9, 20e9, 20e9},
        tree_size_share = { -- tree all-reduces of 64 B, 128 B, .. 256 MiB; all of it beyond
            ll = {
                1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5,
                .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1,
            },
            ll128 = {
                1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6,
                .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1,
            },
            simple = {
                .9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
                .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9,
            },
        },
    },
}

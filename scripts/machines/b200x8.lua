-- b200x8: nodes of eight B200 180 GB, NVLink 5 inside, one 400 Gb/s port a GPU between.
--
-- flops, memory, NVLink: NVIDIA HGX B200 and DGX B200 data sheets, an eighth of the node, dense.
--   f32 is the plain FP32 rate (TF32, when switched on, is 1.1e15).
-- NVLink: 1800 GB/s both ways together, 900 GB/s one way; NCCL counts 18 x 40.1 GB/s and finds 16
--   channels of 45. InfiniBand NDR: 400 Gb/s = 50 GB/s, to NCCL one channel of 48.
-- nccl: NCCL's own model, src/graph/tuning.cc and search.cc of 2026-06, for an Intel host; NVLS:
--   eight heads of 80 GB/s, which gives the 830 GB/s of bus bandwidth that owners measure (NCCL
--   issue 1807).
-- matmul_share: large bf16 matmuls reach 0.78 of the peak (S. Bekman, Machine Learning
--   Engineering). The rest as h100x8.lua says.
return {
    name = "b200x8",
    source = "NVIDIA DGX B200 data sheet; NCCL 2026-06 tuning.cc",
    devices_per_node = 8,
    memory_bytes = 180e9,
    memory_bytes_per_s = 8e12,
    flops_per_s = {
        f64 = 37e12, f32 = 75e12, f16 = 2.25e15, bf16 = 2.25e15,
        f8e4m3fn = 4.5e15, f8e5m2 = 4.5e15, i8 = 4.5e15,
    },
    vector_flops_per_s = {f64 = 37e12, f32 = 75e12, f16 = 150e12, bf16 = 150e12},
    matmul_share = .78, memory_share = .9, gather_share = .5,
    launch_us = 2,
    inside = {
        name = "nvlink", latency_us = 1.9, bytes_per_s = 900e9,
        channels = 16, channel_bytes_per_s = 45e9,
    },
    between = {
        name = "infiniband", latency_us = 4, bytes_per_s = 50e9,
        channels = 1, channel_bytes_per_s = 48e9,
    },
    nccl = { -- of LL, LL128 and Simple; or of one node, two, more
        base_us = {ring = {6.6, 14, 8.4}, tree = {6.8, 14, 8.4}, pat = {0, 0, 8}},
        inside_us = {
            ring = {.6, 1.9, 3.4}, tree = {.6, 1.25, 4},
            nvls = {0, 0, 25}, nvls_tree = {0, 0, 25},
        },
        between_us = {
            ring = {2.7, 4, 14}, tree = {5, 8.5, 14}, pat = {0, 0, 14}, nvls_tree = {0, 0, 20.9},
        },
        post_us = 1, plateau = 1.4,
        ring_ll_share = .5, ring_ll128_share = .92,
        tree_share = .92, tree_ll_share = 1 / 3.8,
        tree_ll128_share = 7 / 9, tree_ll128_share_between = 120 / 128, pat_share = .75,
        nvls_share = .74, nvls_channel_bytes_per_s = 80e9,
        ll_bytes_per_s = {282e9, 39e9, 20.4e9},
        ring_ll128_channel_bytes_per_s = {40e9, 40e9, 40e9},
        tree_channel_bytes_per_s = {70e9, 42.8e9, 24e9},
        tree_ll128_channel_bytes_per_s = {55.6e9, 31.67e9, 20e9},
        nvls_tree_channel_bytes_per_s = {0, 96e9, 80e9},
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

-- h200x8: nodes of eight H200 SXM 141 GB: an H100's cores with more and faster memory.
--
-- flops, memory, NVLink: NVIDIA H200 Tensor Core GPU data sheet, SXM column, dense. f32 is the
--   plain FP32 rate (TF32, when switched on, is 495e12). The rest as h100x8.lua says.
return {
    name = "h200x8",
    source = "NVIDIA H200 SXM data sheet; NCCL 2026-06 tuning.cc",
    devices_per_node = 8,
    memory_bytes = 141e9,
    memory_bytes_per_s = 4.8e12,
    flops_per_s = {
        f64 = 67e12, f32 = 67e12, f16 = 989.4e12, bf16 = 989.4e12,
        f8e4m3fn = 1978.9e12, f8e5m2 = 1978.9e12, i8 = 1978.9e12,
    },
    vector_flops_per_s = {f64 = 34e12, f32 = 67e12, f16 = 134e12, bf16 = 134e12},
    matmul_share = .8, memory_share = .9, gather_share = .5,
    launch_us = 2,
    inside = {
        name = "nvlink", latency_us = 1.9, bytes_per_s = 450e9,
        channels = 12, channel_bytes_per_s = 30e9,
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
        nvls_share = .85, nvls_channel_bytes_per_s = 40e9,
        ll_bytes_per_s = {141e9, 39e9, 20.4e9},
        ring_ll128_channel_bytes_per_s = {36.7e9, 36.7e9, 36.7e9},
        tree_channel_bytes_per_s = {38.7e9, 41.4e9, 36e9},
        tree_ll128_channel_bytes_per_s = {36.7e9, 36.7e9, 29e9},
        nvls_tree_channel_bytes_per_s = {0, 57.7e9, 45.5e9},
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

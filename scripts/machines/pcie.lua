-- pcie: a server of eight L40S 48 GB on PCIe 4, no NVLink, two 100 Gb/s ports between.
--
-- flops, memory: NVIDIA L40S data sheet, dense; f64 is 1/64 of f32.
-- inside: a x16 slot of PCIe 4 carries 31.5 GB/s one way, 24 to NCCL. Pairs of GPUs hang on a
--   switch with one x16 way up to the host: what crosses the host shares 4 x 24 GB/s.
-- between: two ports of 100 Gb/s for all eight, on slots of their own.
-- nccl: NCCL's own model, src/graph/tuning.cc of 2026-06, PCI rows, for an Intel host. NCCL does
--   not use LL128 over PCIe, and there is no switch that adds.
-- matmul_share: as of larger cards, a round number. The rest as h100x8.lua says.
return {
    name = "pcie",
    source = "NVIDIA L40S data sheet; NCCL 2026-06 tuning.cc",
    devices_per_node = 8,
    memory_bytes = 48e9,
    memory_bytes_per_s = 864e9,
    flops_per_s = {
        f64 = 1.4e12, f32 = 91.6e12, f16 = 362e12, bf16 = 362e12,
        f8e4m3fn = 733e12, f8e5m2 = 733e12, i8 = 733e12,
    },
    vector_flops_per_s = {f64 = 1.4e12, f32 = 91.6e12, f16 = 91.6e12, bf16 = 91.6e12},
    matmul_share = .8, memory_share = .9, gather_share = .5,
    launch_us = 2,
    inside = {
        name = "pcie", latency_us = 5.7, bytes_per_s = 31.5e9, shared_bytes_per_s = 96e9,
        channels = 2, channel_bytes_per_s = 12e9,
    },
    between = {
        name = "ethernet", latency_us = 14, bytes_per_s = 12.5e9, shared_bytes_per_s = 25e9,
        channels = 1, channel_bytes_per_s = 12e9,
    },
    nccl = { -- of LL, LL128 and Simple; or of one node, two, more
        base_us = {ring = {6.6, 14, 8.4}, tree = {6.8, 14, 8.4}, pat = {0, 0, 8}},
        inside_us = {
            ring = {1, 0, 5.7}, tree = {1, 0, 4},
        },
        between_us = {
            ring = {2.7, 0, 14}, tree = {5, 0, 14}, pat = {0, 0, 14},
        },
        post_us = 1, plateau = 1.4,
        ring_ll_share = .5, ring_ll128_share = .92,
        tree_share = .92, tree_ll_share = 1 / 3.8,
        tree_ll128_share = 7 / 9, tree_ll128_share_between = 120 / 128, pat_share = .75,
        ll_bytes_per_s = {87.7e9, 39e9, 20.4e9},
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

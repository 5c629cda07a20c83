-- lib/nvidia.lua: what servers of eight NVIDIA GPUs have in common; a machine says what differs.
--
-- nccl: NCCL's own model, src/graph/tuning.cc of 2026-06, for an Intel host.
-- memory_share, gather_share: round numbers; copies reach nine tenths, scattered rows half.
-- latency_us: of a hop, where somebody takes the nccl table out. launch_us: what a kernel in a full
--   queue costs beside its work, about 2 us. matmul_us, matmul_tile: of Vidur's measured matmuls on
--   an A100 and an H100, with half of each last wave: off by 7 % on the three models that were fitted,
--   by 8 % on the three others (mean).
-- busy_share: Calculon's systems (Isaev et al. 2023, doi 10.1145/3581784.3607102), processor_usage.

-- A copy of the table `base` with the fields of `own`; tables in both are joined, lists are not.
local function with(base, own)
    local joined = {}
    for name, value in pairs(base) do joined[name] = value end
    for name, value in pairs(own) do
        local old = joined[name]
        local both = type(old) == "table" and type(value) == "table" and #value == 0
        joined[name] = both and with(old, value) or value
    end
    return joined
end

-- What all of them share: a machine adds its links and their hops.
local server = {
    devices_per_node = 8,
    memory_share = .9, gather_share = .5,
    launch_us = 2, matmul_us = 4, matmul_tile = 128,
    nccl = { -- of LL, LL128 and Simple; or of one node, two, more
        base_us = {ring = {6.6, 14, 8.4}, tree = {6.8, 14, 8.4}, pat = {0, 0, 8}},
        post_us = 1, plateau = 1.4,
        ring_ll_share = .5, ring_ll128_share = .92,
        tree_share = .92, tree_ll_share = 1 / 3.8,
        tree_ll128_share = 7 / 9, tree_ll128_share_between = 120 / 128, pat_share = .75,
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

-- NVLink inside, one InfiniBand port a GPU between.
local nvlink = with(server, {
    inside = {name = "nvlink", latency_us = 1.9, busy_share = .15},
    between = {name = "infiniband", latency_us = 4, channels = 1, busy_share = .02},
    nccl = {
        inside_us = {ring = {.6, 1.9, 3.4}, tree = {.6, 1.25, 4}},
        between_us = {ring = {2.7, 4, 14}, tree = {5, 8.5, 14}, pat = {0, 0, 14}},
    },
})

-- The same with a switch that adds (NVLS), and 400 Gb/s InfiniBand (NDR): 50 GB/s, to NCCL one
-- channel of 48.
local nvls = with(nvlink, {
    between = {bytes_per_s = 50e9, channel_bytes_per_s = 48e9},
    nccl = {
        inside_us = {nvls = {0, 0, 25}, nvls_tree = {0, 0, 25}},
        between_us = {nvls_tree = {0, 0, 20.9}},
    },
})

-- Blackwell's NVLink 5: 1800 GB/s both ways together, 900 GB/s one way; NCCL counts 18 x 40.1 GB/s
-- and finds 16 channels of 45. NVLS: eight heads of 80 GB/s, which gives the 830 GB/s of bus
-- bandwidth that owners of eight measure (NCCL issue 1807). Large bf16 matmuls reach 0.78 of the
-- peak (S. Bekman, Machine Learning Engineering).
local blackwell = with(nvls, {
    matmul_share = .78,
    inside = {bytes_per_s = 900e9, channels = 16, channel_bytes_per_s = 45e9},
    nccl = {
        nvls_share = .74, nvls_channel_bytes_per_s = 80e9,
        ll_bytes_per_s = {282e9, 39e9, 20.4e9},
        ring_ll128_channel_bytes_per_s = {40e9, 40e9, 40e9},
        tree_channel_bytes_per_s = {70e9, 42.8e9, 24e9},
        tree_ll128_channel_bytes_per_s = {55.6e9, 31.67e9, 20e9},
        nvls_tree_channel_bytes_per_s = {0, 96e9, 80e9},
    },
})

return {with = with, server = server, nvlink = nvlink, nvls = nvls, blackwell = blackwell}

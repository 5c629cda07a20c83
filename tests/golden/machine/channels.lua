-- channels.lua: links of one rate, beside numbers of NCCL that are about channels
return {
    name = "channels", source = "made up",
    devices_per_node = 8, memory_bytes = 16e9, memory_bytes_per_s = 1e12,
    flops_per_s = {f32 = 10e12}, launch_us = 2,
    inside = {name = "wire", latency_us = 2, bytes_per_s = 10e9},
    between = {name = "net", latency_us = 5, bytes_per_s = 1e9},
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

-- tpu_v5p: pods of up to 8960 TPU v5p chips in a 3D torus, the data center network between pods.
--
-- flops, memory, links: Google Cloud's page on TPU v5p: 459e12 in bf16, 95 GiB, 2765 GB/s; 1200
--   GB/s both ways over six links of a chip; 50 Gb/s of the network a chip.
-- inside: a group is a ring along one dim of the torus, which sends both ways: two links of 90 GB/s
--   each, as Austin et al. 2025 count them ("How to Scale Your Model"). So an axis of the mesh is
--   one dim of the torus, at most three axes are inside, and those that share a dim are slower than
--   said here. A dim that is not wrapped around (less than a whole cube) has half of that.
-- f32: six passes of bf16, as at the highest precision of JAX; the default is one pass, at 459e12.
-- vector_flops_per_s: 2 cores x 4 x 8 x 128 lanes at 1.75 GHz, the same book.
-- matmul_share, memory_share, gather_share, launch_us: round numbers; a compiled step has no queue.
-- No nccl table: collectives are rings.
return {
    name = "tpu_v5p",
    source = "Google Cloud TPU v5p; Austin et al. 2025, How to Scale Your Model",
    devices_per_node = 8960,
    memory_bytes = 102e9,
    memory_bytes_per_s = 2.765e12,
    flops_per_s = {f32 = 76.5e12, bf16 = 459e12, f16 = 459e12, i8 = 918e12},
    vector_flops_per_s = {f32 = 14e12, bf16 = 14e12, f16 = 14e12},
    matmul_share = .85, memory_share = .9, gather_share = .5,
    launch_us = .5,
    inside = {name = "ici", latency_us = 1, bytes_per_s = 180e9},
    between = {name = "network", latency_us = 20, bytes_per_s = 6.25e9},
}

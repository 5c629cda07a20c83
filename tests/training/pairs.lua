-- pairs: nodes of two devices with a slow network between them, round numbers. Which axis stays
--   inside a node decides what it costs, and a group within and between nodes is best left in parts.
return {
    name = "pairs",
    source = "round numbers",
    devices_per_node = 2,
    memory_bytes = 80e9,
    memory_bytes_per_s = 3e12,
    flops_per_s = {f32 = 60e12, bf16 = 900e12},
    launch_us = 1,
    inside = {name = "near", latency_us = 1, bytes_per_s = 400e9},
    between = {name = "far", latency_us = 5, bytes_per_s = 5e9},
}

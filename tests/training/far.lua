-- far: nodes of four devices, whose hops take long: a collective of few hops is taken in several.
return {
    name = "far",
    source = "round numbers",
    devices_per_node = 4,
    memory_bytes = 80e9,
    memory_bytes_per_s = 3e12,
    flops_per_s = {f32 = 60e12, bf16 = 900e12},
    launch_us = 1,
    inside = {name = "near", latency_us = 100, bytes_per_s = 400e9},
    between = {name = "far", latency_us = 300, bytes_per_s = 50e9},
}

-- negative.lua: a rate below 0
return {
    name = "negative", source = "made up",
    devices_per_node = 8, memory_bytes = 16e9, memory_bytes_per_s = 1e12,
    flops_per_s = {f32 = 10e12}, launch_us = 2,
    inside = {name = "wire", latency_us = 2, bytes_per_s = 10e9},
    between = {name = "net", latency_us = 5, bytes_per_s = -1e9},
}

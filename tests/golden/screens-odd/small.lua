-- small: a device that GPT-2 does not fit, with links that are slow.
return {
    name = "small",
    source = "made up",
    devices_per_node = 2,
    memory_bytes = 0.5e9,
    memory_bytes_per_s = 10e9,
    flops_per_s = {f64 = 25e9, f32 = 50e9},
    launch_us = 1.0,
    inside = {
        name = "shared memory", latency_us = 2.0, bytes_per_s = 5e9, shared_bytes_per_s = 25e9,
    },
    between = {
        name = "ethernet", latency_us = 50.0, bytes_per_s = 1.25e9, shared_bytes_per_s = 1.25e9,
    },
}

-- cpu: what `dimscope run` uses: a rank is a thread, a collective is a copy in shared memory.
--
-- Round numbers of one core of a server of the 2020s, not of this machine: AVX2 at 3 GHz gives
-- about 50e9 f32 operations a second in a matmul, half of that in f64; a core reads some 10 GB/s.
-- Element types not named are computed as f32. A rank copies 5 GB/s alone; all of them together are
-- bound by the memory of the host, 25 GB/s, as all-reduces among threads show. "between" is
-- ten-gigabit Ethernet, one port a host. No nccl table: collectives are rings.
return {
    name = "cpu",
    source = "round numbers of one server core; 10 Gb/s Ethernet",
    devices_per_node = 64,
    memory_bytes = 4e9,
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

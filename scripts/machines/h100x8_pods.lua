-- h100x8_pods: h100x8 in pods of 3,072 GPUs, with a seventh of the bandwidth between pods.
--
-- devices_per_block, spine: Llama 3's cluster of 24,576 GPUs (Grattafiori et al. 2024, arXiv
--   2407.21783, section 3.3.1): 192 racks of 16 GPUs are a pod with full bisection bandwidth; eight
--   pods are joined with an oversubscription of 1:7. So 50 GB/s / 7 a GPU.
-- spine.latency_us: not published; one more tier of switches there and back is a round 2 us.
local nvidia = include "lib/nvidia"

return nvidia.with(include "h100x8", {
    name = "h100x8_pods",
    source = "NVIDIA H100 SXM5 data sheet; NCCL 2026-06 tuning.cc; Llama 3, section 3.3.1",
    devices_per_block = 3072,
    spine = {
        name = "spine", latency_us = 6, bytes_per_s = 50e9 / 7,
        channels = 1, channel_bytes_per_s = 50e9 / 7, busy_share = .02,
    },
})

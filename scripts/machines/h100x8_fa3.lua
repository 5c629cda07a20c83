-- h100x8_fa3: h100x8 with FlashAttention 3.
--
-- attention_share: 1.5 to 2 times FlashAttention 2, at most 0.75 of the peak (Shah et al. 2024,
--   arXiv 2407.08608, abstract): the middle, 1.75 times the share of h100x8_fa2; the gradient 1.6
--   times, as backward kernels gain less.
local nvidia = include "lib/nvidia"

return nvidia.with(include "h100x8", {
    name = "h100x8_fa3",
    source = "NVIDIA H100 SXM5 data sheet; NCCL 2026-06 tuning.cc; FlashAttention 3",
    attention_share = .61, attention_gradient_share = .49,
})

-- h100x8_fa2: h100x8 with FlashAttention 2; h100x8 lies between it and the kernels before it.
--
-- attention_share: 0.35 of the peak (Shah et al. 2024, arXiv 2407.08608, abstract); the gradient as
--   h100x8.lua says.
local nvidia = include "lib/nvidia"

return nvidia.with(include "h100x8", {
    name = "h100x8_fa2",
    source = "NVIDIA H100 SXM5 data sheet; NCCL 2026-06 tuning.cc; FlashAttention 2",
    attention_share = .35, attention_gradient_share = .3,
})

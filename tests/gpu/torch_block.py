#!/usr/bin/env python3
"""Times the transformer block of bench_gpu.c in PyTorch, eager and compiled, as "NAME VALUE UNIT".

Without PyTorch, or a GPU that it sees, it prints one line that says so, and ends well.
"""
import statistics
import sys

try:
    import torch
except ImportError:
    print("# no figures of PyTorch: it is not here")
    sys.exit(0)
if not torch.cuda.is_available():
    print("# no figures of PyTorch: it sees no GPU")
    sys.exit(0)

BATCH, TOKENS, WIDTH, HEADS, INNER = 8, 1024, 1024, 16, 4096
WARMUP, REPEAT = 10, 30


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        linear = lambda n, m: torch.nn.Linear(n, m, bias=False)
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = linear(WIDTH, INNER), linear(INNER, WIDTH)

    def heads(self, x):
        return x.view(BATCH, TOKENS, HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x):
        n = self.norm1(x)
        q, k, v = self.heads(self.q(n)), self.heads(self.k(n)), self.heads(self.v(n))
        a = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        r = x + self.o(a.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))
        u = torch.nn.functional.gelu(self.up(self.norm2(r)), approximate="tanh")
        return r + self.down(u)


def median_us(function, x):
    times = []
    for i in range(WARMUP + REPEAT):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        function(x)
        end.record()
        end.synchronize()
        if i >= WARMUP:
            times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


print(f"# PyTorch {torch.__version__}")
with torch.inference_mode():
    block = Block().to(device="cuda", dtype=torch.bfloat16)
    x = torch.randn(BATCH, TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)
    print(f"block.torch_eager {median_us(block, x):.4g} us")
    compiled = torch.compile(block, mode="max-autotune")
    print(f"block.torch_compiled {median_us(compiled, x):.4g} us")

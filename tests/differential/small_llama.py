"""A small Llama with the modules of samples/models/llama-tiny.onnx, without its rotary part."""

import torch


class RmsNorm(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Attention(torch.nn.Module):
    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        linear = torch.nn.Linear
        self.q_proj = linear(width, heads * self.size, bias=False)
        self.k_proj = linear(width, kv_heads * self.size, bias=False)
        self.v_proj = linear(width, kv_heads * self.size, bias=False)
        self.o_proj = linear(heads * self.size, width, bias=False)

    def repeated(self, x, batch, length):
        x = x.view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        n = self.heads // self.kv_heads
        x = x[:, :, None].expand(batch, self.kv_heads, n, length, self.size)
        return x.reshape(batch, self.heads, length, self.size)

    def forward(self, x):
        batch, length, _ = x.shape
        q = self.q_proj(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.repeated(self.k_proj(x), batch, length)
        v = self.repeated(self.v_proj(x), batch, length)
        scores = torch.softmax(torch.matmul(q, k.transpose(2, 3)), dim=-1)
        read = torch.matmul(scores, v).transpose(1, 2)
        return self.o_proj(read.reshape(batch, length, self.heads * self.size))


class Mlp(torch.nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate_proj = torch.nn.Linear(width, inner, bias=False)
        self.up_proj = torch.nn.Linear(width, inner, bias=False)
        self.down_proj = torch.nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(torch.nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(torch.nn.Module):
    def __init__(self, width, inner, heads, kv_heads):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = RmsNorm(width), RmsNorm(width)
        self.self_attn, self.mlp = Attention(width, heads, kv_heads), Mlp(width, inner)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(512, 128)
        self.layers = torch.nn.ModuleList(Layer(128, 256, 8, 4) for _ in range(2))
        self.norm = RmsNorm(128)

    def forward(self, input_ids):
        x = self.embed_tokens(input_ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class Llama(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Decoder()
        self.lm_head = torch.nn.Linear(128, 512, bias=False)

    def forward(self, input_ids):
        return self.lm_head(self.model(input_ids))

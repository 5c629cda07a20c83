"""What transformers computes for small configs, for tests/unit/test_model_numbers.c.

    python make.py > numbers.jsonl      needs torch and transformers (5.23)

A line a model: its config, its free dims, and the elements of each output. Parameters and inputs
are no file: element i of a tensor is a hash of its name and i (`numbers` below, and the test).
Names are those of our builders, which are those of the checkpoints but for stacked experts.
"""

import json
import sys

import numpy
import torch
import transformers


def hashes(name, n):
    """FNV-1a of the name, plus i, through the finalizer of MurmurHash3."""
    start = 2166136261
    for byte in name.encode():
        start = (start ^ byte) * 16777619 & 0xFFFFFFFF
    x = (numpy.arange(n, dtype=numpy.uint64) + start) & 0xFFFFFFFF
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = ((x ^ x >> shift) * factor) & 0xFFFFFFFF
    return x ^ x >> 16


def numbers(name, shape):
    """In [-0.5, 0.5)."""
    n = int(numpy.prod(shape))
    return (hashes(name, n) / 2.0**32 - 0.5).astype(numpy.float32).reshape(shape)


def ids(name, shape, limit):
    numbers = hashes(name, int(numpy.prod(shape))) % limit
    return torch.tensor(numbers.astype(numpy.int64).reshape(shape))


def stacked(prefix, gate, up, e, hidden, width):
    return numpy.concatenate([numbers(prefix + gate, (e, hidden, width)),
                              numbers(prefix + up, (e, hidden, width))], axis=1)


def fill(model, rename):
    """Gives every parameter and buffer that is saved its numbers."""
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            ours, shape = rename(name), tuple(tensor.shape)
            if ours is None:
                continue
            value = ours(shape) if callable(ours) else numbers(ours, shape)
            tensor.copy_(torch.tensor(value))
    model.eval()
    return model


def mixtral(name):
    name = name.replace(".mlp.", ".block_sparse_moe.")
    prefix = name.rsplit(".", 1)[0]
    if name.endswith("gate_up_proj"):
        return lambda s: stacked(prefix, ".w1.weight", ".w3.weight", s[0], s[1] // 2, s[2])
    return name.replace("experts.down_proj", "experts.w2.weight")


def deepseek(name):
    prefix = name.rsplit(".", 1)[0]
    if name.endswith("gate_up_proj"):
        return lambda s: stacked(prefix, ".gate_proj.weight", ".up_proj.weight", s[0], s[1] // 2,
                                 s[2])
    return name + ".weight" if name.endswith("experts.down_proj") else name


def t5(name):
    shared = name.endswith("embed_tokens.weight") or name == "lm_head.weight"
    return "shared.weight" if shared else name


def image(attention):
    """transformers 5 has names of its own for what checkpoints call otherwise."""
    names = {".relative_position_bias.relative_position_bias_table":
             ".self.relative_position_bias_table",
             ".attention.q_proj": f".attention.{attention}.query",
             ".attention.k_proj": f".attention.{attention}.key",
             ".attention.v_proj": f".attention.{attention}.value",
             ".attention.o_proj": ".attention.output.dense", ".mlp.fc1": ".intermediate.dense",
             ".mlp.fc2": ".output.dense", "vit.layers.": "vit.encoder.layer."}

    def rename(name):
        for theirs, ours in names.items():
            name = name.replace(theirs, ours)
        return name

    return rename


LATENT = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
          "num_key_value_heads": 2, "intermediate_size": 24, "vocab_size": 12,
          "max_position_embeddings": 64, "moe_intermediate_size": 8, "first_k_dense_replace": 1,
          "n_routed_experts": 8, "num_experts_per_tok": 3, "n_group": 4, "topk_group": 2,
          "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
          "rms_norm_eps": 1e-6, "attention_bias": False, "tie_word_embeddings": False,
          "hidden_act": "silu", "capacity_factor": 2.7}
YARN = {"type": "yarn", "factor": 4.0, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
        "mscale_all_dim": 1.0, "original_max_position_embeddings": 16}

CONFIGS = {
    "mixtral": ({"model_type": "mixtral", "hidden_size": 16, "num_hidden_layers": 2,
                 "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24,
                 "vocab_size": 12, "num_local_experts": 4, "num_experts_per_tok": 2,
                 "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
                 "tie_word_embeddings": False, "hidden_act": "silu", "capacity_factor": 2},
                "MixtralForCausalLM", mixtral),
    "deepseek v2": (dict(LATENT, model_type="deepseek_v2", n_shared_experts=2, q_lora_rank=None,
                         topk_method="group_limited_greedy", routed_scaling_factor=4.0,
                         norm_topk_prob=False, rope_theta=10000.0),
                    "DeepseekV2ForCausalLM", deepseek),
    "deepseek v3": (dict(LATENT, model_type="deepseek_v3", n_shared_experts=1, q_lora_rank=12,
                         scoring_func="sigmoid", routed_scaling_factor=2.5, norm_topk_prob=True,
                         rope_theta=10000.0, rope_scaling=YARN),
                    "DeepseekV3ForCausalLM", deepseek),
    "t5": ({"model_type": "t5", "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2,
            "num_heads": 4, "vocab_size": 12, "relative_attention_num_buckets": 8,
            "relative_attention_max_distance": 6, "feed_forward_proj": "relu"},
           "T5ForConditionalGeneration", t5),
    "t5, gated": ({"model_type": "t5", "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 1,
                   "num_heads": 4, "vocab_size": 12, "feed_forward_proj": "gated-gelu",
                   "relative_attention_num_buckets": 8, "relative_attention_max_distance": 6},
                  "T5ForConditionalGeneration", t5),
    "bert": ({"model_type": "bert", "hidden_size": 16, "num_hidden_layers": 2,
              "num_attention_heads": 4, "intermediate_size": 24, "vocab_size": 12,
              "max_position_embeddings": 8, "type_vocab_size": 2, "hidden_act": "gelu"},
             "BertModel", lambda name: "bert." + name),
    "vit": ({"model_type": "vit", "hidden_size": 16, "num_hidden_layers": 2,
             "num_attention_heads": 4, "intermediate_size": 24, "image_size": 16, "patch_size": 4,
             "num_labels": 6, "hidden_act": "gelu", "layer_norm_eps": 1e-12},
            "ViTForImageClassification", image("attention")),
    "swin": ({"model_type": "swin", "embed_dim": 8, "depths": [2, 2], "num_heads": [2, 4],
              "window_size": 4, "image_size": 32, "patch_size": 4, "num_labels": 6,
              "hidden_act": "gelu"},
             "SwinForImageClassification", image("self")),
}

BATCH, SEQ, TARGET = 2, 6, 5


def inputs_of(config):
    kind = config["model_type"]
    if kind in ("vit", "swin"):
        size = config["image_size"]
        return {"pixel_values": torch.tensor(numbers("pixel_values", (BATCH, 3, size, size)))}
    vocabulary = config["vocab_size"]
    if kind == "t5":
        return {"input_ids": ids("input_ids", (BATCH, SEQ), vocabulary),
                "decoder_input_ids": ids("decoder_input_ids", (BATCH, TARGET), vocabulary)}
    given = {"input_ids": ids("input_ids", (BATCH, SEQ), vocabulary)}
    if kind == "bert":
        given["token_type_ids"] = ids("token_type_ids", (BATCH, SEQ), 2)
    return given


def main():
    for name, (config, architecture, rename) in CONFIGS.items():
        values = {k: v for k, v in config.items() if k not in ("model_type", "capacity_factor")}
        config_class = getattr(transformers, architecture).config_class
        made = config_class(**values)
        made._attn_implementation = "eager"
        model = fill(getattr(transformers, architecture)(made), rename)
        with torch.no_grad():
            out = model(**inputs_of(config))
        bert = config["model_type"] == "bert"
        outputs = [out.last_hidden_state, out.pooler_output] if bert else [out.logits]
        outputs = [[float(f"{x:.7g}") for x in y.flatten().tolist()] for y in outputs]
        print(json.dumps({"name": name, "config": config, "outputs": outputs}))


if __name__ == "__main__":
    sys.exit(main())

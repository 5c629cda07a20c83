"""What transformers computes for small configs, for tests/unit/test_model_numbers.c.

    python make.py > numbers.jsonl             needs torch and transformers (5.24)
    python make.py gemma opt >> numbers.jsonl  some of them

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


def ernie(name):
    return deepseek(name.replace("gate.moe_statics", "moe_statics"))


def granite(name):
    """Checkpoints have the names that transformers 4 had."""
    for theirs, ours in {"router.": "router.layer.", "experts.gate_up_proj": "input_linear.weight",
                         "experts.down_proj": "output_linear.weight"}.items():
        name = name.replace(theirs, ours)
    return name


def nemotron(name):
    name = name.replace("model.", "backbone.", 1)
    return name + ".weight" if name.endswith("_proj") else name


def lfm(name):
    prefix = name.rsplit(".", 1)[0]
    if name.endswith("gate_up_proj"):
        return lambda s: stacked(prefix, ".w1.weight", ".w3.weight", s[0], s[1] // 2, s[2])
    return name.replace("experts.down_proj", "experts.w2.weight")


def without_buffers(name):
    return None if name.endswith("act_fn.beta") or name.endswith("act_fn.eps") else name


def packed(name):
    """Experts are stacked with the dims of their weights exchanged."""
    if name.endswith("experts.gate_up_proj") or name.endswith("experts.down_proj"):
        return lambda s: numbers(name, (s[0], s[2], s[1])).transpose(0, 2, 1)
    return name


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


def tied(table):
    """The head is the embedding."""
    return lambda name: table if name in ("lm_head.weight", "proj_out.weight") else name


def inside(module, rename):
    """The model is a part of another."""
    return lambda name: module + "." + rename(name)


def below(rename):
    """The body of the model is a part of that of another, the head is beside it."""
    return lambda name: rename(name.replace("model.", "model.language_model.", 1))


def neox(name):
    return name.replace("lm_head", "embed_out")


def megatron(name):
    """A GPT-NeoX without parallel residuals is a GPT of Megatron-LM."""
    names = {"gpt_neox.embed_in": "embedding.word_embeddings", "gpt_neox.layers": "decoder.layers",
             "gpt_neox.final_layer_norm": "decoder.final_layernorm", "lm_head": "output_layer",
             "post_attention_layernorm.": "mlp.linear_fc1.layer_norm_",
             "input_layernorm.": "self_attention.linear_qkv.layer_norm_",
             "attention.query_key_value": "self_attention.linear_qkv",
             "attention.dense": "self_attention.linear_proj",
             "dense_h_to_4h": "linear_fc1", "dense_4h_to_h": "linear_fc2"}
    for theirs, ours in names.items():
        name = name.replace(theirs, ours)
    return name


LATENT = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
          "num_key_value_heads": 2, "intermediate_size": 24, "vocab_size": 12,
          "max_position_embeddings": 64, "moe_intermediate_size": 8, "first_k_dense_replace": 1,
          "n_routed_experts": 8, "num_experts_per_tok": 3, "n_group": 4, "topk_group": 2,
          "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
          "rms_norm_eps": 1e-6, "attention_bias": False, "tie_word_embeddings": False,
          "hidden_act": "silu", "capacity_factor": 2.7}
YARN = {"type": "yarn", "factor": 4.0, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
        "mscale_all_dim": 1.0, "original_max_position_embeddings": 16}

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 24, "vocab_size": 12, "max_position_embeddings": 64,
         "tie_word_embeddings": False}
GROUPED = dict(SMALL, num_key_value_heads=2)
EXPERTS = dict(GROUPED, moe_intermediate_size=8, num_experts=4, num_experts_per_tok=2,
               decoder_sparse_step=1, capacity_factor=2)
SCALED = {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
          "truncate": False, "original_max_position_embeddings": 16}
GEMMA = dict(GROUPED, head_dim=8, tie_word_embeddings=True)
OPT = {"model_type": "opt", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
       "ffn_dim": 24, "vocab_size": 12, "max_position_embeddings": 16, "word_embed_proj_dim": 16}
NEOX = dict(SMALL, rotary_pct=0.5, hidden_act="gelu")
TOWER = {"num_attention_heads": 4, "intermediate_size": 24, "num_hidden_layers": 2}
EMBED = tied("model.embed_tokens.weight")
BY_KIND = {"sliding_attention": {"rope_type": "default", "rope_theta": 20.0},
           "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0}}

LLAMA4 = dict(GROUPED, head_dim=8, num_hidden_layers=4, num_local_experts=4, num_experts_per_tok=1,
              intermediate_size_mlp=20, interleave_moe_layer_step=2, attention_chunk_size=3,
              floor_scale=2, attn_scale=0.5, attn_temperature_tuning=True)
DELTA = dict(EXPERTS, head_dim=8, num_hidden_layers=4, linear_key_head_dim=4, linear_value_head_dim=6,
             linear_num_key_heads=2, linear_num_value_heads=4, shared_expert_intermediate_size=12,
             rope_parameters={"rope_type": "default", "rope_theta": 100.0,
                              "partial_rotary_factor": 0.5, "mrope_section": [1, 1, 0]})

# Name: config, architecture, renaming; then free dims and, of ours for another's, its config.
CONFIGS = {
    "gemma": (dict(GEMMA, model_type="gemma"), "GemmaForCausalLM", EMBED),
    "gemma2": (dict(GEMMA, model_type="gemma2", sliding_window=3, query_pre_attn_scalar=16,
                    attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
               "Gemma2ForCausalLM", EMBED),
    "gemma3_text": (dict(GEMMA, model_type="gemma3_text", num_hidden_layers=4, sliding_window=3,
                         sliding_window_pattern=3, query_pre_attn_scalar=16, rope_theta=100.0,
                         rope_local_base_freq=20.0, final_logit_softcapping=3.0,
                         rope_scaling={"rope_type": "linear", "factor": 2.0}),
                    "Gemma3ForCausalLM", EMBED),
    "gemma3": ({"model_type": "gemma3",
                "text_config": dict(GEMMA, model_type="gemma3_text", num_hidden_layers=3,
                                    sliding_window=3, rope_parameters=BY_KIND,
                                    layer_types=["full_attention", "sliding_attention",
                                                 "full_attention"])},
               "Gemma3ForCausalLM", inside("language_model", EMBED), None,
               dict(GEMMA, num_hidden_layers=3, sliding_window=3, rope_parameters=BY_KIND,
                    layer_types=["full_attention", "sliding_attention", "full_attention"])),
    "llama4": ({"model_type": "llama4", "capacity_factor": 4,
                "text_config": dict(LLAMA4, model_type="llama4_text")},
               "Llama4ForCausalLM", inside("language_model", str), None, LLAMA4),
    "llama4_text, uneven chunks": (dict(LLAMA4, model_type="llama4_text", capacity_factor=4,
                                        attention_chunk_size=4, use_qk_norm=False),
                                   "Llama4ForCausalLM", str),
    "mistral3": ({"model_type": "mistral3", "tie_word_embeddings": True,
                  "text_config": dict(GROUPED, model_type="mistral", head_dim=8,
                                      sliding_window=None)},
                 "MistralForCausalLM", inside("language_model", EMBED), None,
                 dict(GROUPED, head_dim=8, sliding_window=None, tie_word_embeddings=True)),
    "qwen2_5_vl, flat": (dict(GROUPED, model_type="qwen2_5_vl",
                              rope_scaling={"type": "mrope", "mrope_section": [1, 1, 0]}),
                         "Qwen2ForCausalLM", str, None, dict(GROUPED)),
    "qwen3_vl_moe": ({"model_type": "qwen3_vl_moe", "capacity_factor": 2,
                      "text_config": dict(EXPERTS, model_type="qwen3_vl_moe_text", head_dim=8)},
                     "Qwen3MoeForCausalLM", below(packed), None,
                     dict(EXPERTS, head_dim=8, norm_topk_prob=True)),
    "qwen3_next": (dict(DELTA, model_type="qwen3_next"), "Qwen3NextForCausalLM", deepseek),
    "qwen3_5_moe": ({"model_type": "qwen3_5_moe", "capacity_factor": 2,
                     "text_config": dict(DELTA, model_type="qwen3_5_moe_text")},
                    "Qwen3_5MoeForCausalLM", below(deepseek), None, DELTA),
    "granitemoehybrid": (dict(GROUPED, model_type="granitemoehybrid", num_hidden_layers=3,
                              num_local_experts=4, num_experts_per_tok=2,
                              shared_intermediate_size=20, mamba_n_heads=8, mamba_d_head=4,
                              mamba_d_state=4, mamba_n_groups=2, mamba_chunk_size=4,
                              layer_types=["linear_attention", "full_attention",
                                           "linear_attention"], capacity_factor=2,
                              embedding_multiplier=6.0, logits_scaling=4.0,
                              residual_multiplier=0.3, attention_multiplier=0.2),
                         "GraniteMoeHybridForCausalLM", granite),
    "nemotron_h": (dict(GROUPED, model_type="nemotron_h", head_dim=8, ssm_state_size=4, mamba_num_heads=8,
                        mamba_head_dim=4, n_groups=2, chunk_size=4, n_routed_experts=4,
                        num_experts_per_tok=2, moe_intermediate_size=12, moe_latent_size=8,
                        moe_shared_expert_intermediate_size=20, routed_scaling_factor=2.5,
                        hybrid_override_pattern="ME*-M", capacity_factor=2),
                   "NemotronHForCausalLM", nemotron),
    "lfm2": (dict(GROUPED, model_type="lfm2", num_hidden_layers=3, block_multiple_of=8, conv_bias=True,
                  layer_types=["conv", "full_attention", "conv"]), "Lfm2ForCausalLM", str),
    "lfm2_moe": (dict(GROUPED, model_type="lfm2_moe", num_hidden_layers=3, num_dense_layers=1, num_experts=4,
                      num_experts_per_tok=2, moe_intermediate_size=12, capacity_factor=2, routed_scaling_factor=1.5,
                      layer_types=["conv", "full_attention", "conv"]), "Lfm2MoeForCausalLM", lfm),
    "hunyuan_v1_moe": (dict(GROUPED, model_type="hunyuan_v1_moe", head_dim=8, num_experts=4, moe_topk=2,
                            capacity_factor=2), "HunYuanMoEV1ForCausalLM", deepseek),
    "ministral3": (dict(GROUPED, model_type="ministral3", head_dim=8, sliding_window=None, rope_parameters={
        "rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
        "original_max_position_embeddings": 4, "llama_4_scaling_beta": 0.3}), "Ministral3ForCausalLM", str),
    "glm4_moe_lite": (dict(LATENT, model_type="glm4_moe_lite", num_attention_heads=3, num_key_value_heads=3,
                           n_shared_experts=1, norm_topk_prob=True, routed_scaling_factor=1.8,
                           q_lora_rank=12, rms_norm_eps=1e-5, mlp_layer_types=["dense", "sparse"]),
                      "Glm4MoeLiteForCausalLM", deepseek),
    "vaultgemma": (dict(GROUPED, model_type="vaultgemma", head_dim=8, sliding_window=3, query_pre_attn_scalar=8,
                        attn_logit_softcapping=2.0, final_logit_softcapping=3.0, tie_word_embeddings=True),
                   "VaultGemmaForCausalLM", EMBED),
    "jais2": (dict(GROUPED, model_type="jais2"), "Jais2ForCausalLM", str),
    "glm": (dict(GROUPED, model_type="glm", head_dim=8, pad_token_id=0), "GlmForCausalLM", str),
    "hunyuan_v1_dense": (dict(GROUPED, model_type="hunyuan_v1_dense", head_dim=8, rope_parameters={
        "rope_type": "dynamic", "alpha": 50.0, "factor": 1.0, "rope_theta": 100.0}),
                         "HunYuanDenseV1ForCausalLM", str),
    "apertus": (dict(GROUPED, model_type="apertus", pad_token_id=0), "ApertusForCausalLM", without_buffers),
    "phi": (dict(SMALL, model_type="phi", partial_rotary_factor=0.5, hidden_act="gelu_new"),
            "PhiForCausalLM", str),
    "phi, norms of heads": (dict(SMALL, model_type="phi", partial_rotary_factor=0.5,
                                 qk_layernorm=True), "PhiForCausalLM", str),
    "phi3": (dict(GROUPED, model_type="phi3", sliding_window=4, pad_token_id=0), "Phi3ForCausalLM",
             str),
    "falcon": (dict(SMALL, model_type="falcon", multi_query=True, parallel_attn=True, bias=False,
                    alibi=False, new_decoder_architecture=False, tie_word_embeddings=True),
               "FalconForCausalLM", tied("transformer.word_embeddings.weight")),
    "falcon, groups": (dict(SMALL, model_type="falcon", num_kv_heads=2, parallel_attn=True,
                            bias=False, new_decoder_architecture=True, tie_word_embeddings=True),
                       "FalconForCausalLM", tied("transformer.word_embeddings.weight")),
    "falcon, alibi": (dict(SMALL, model_type="falcon", multi_query=False, parallel_attn=False,
                           bias=True, alibi=True, new_decoder_architecture=False,
                           num_attention_heads=4, tie_word_embeddings=True),
                      "FalconForCausalLM", tied("transformer.word_embeddings.weight")),
    "opt": (OPT, "OPTForCausalLM", tied("model.decoder.embed_tokens.weight")),
    "opt, narrow": (dict(OPT, word_embed_proj_dim=8, do_layer_norm_before=False),
                    "OPTForCausalLM", tied("model.decoder.embed_tokens.weight")),
    "gpt_neox": (dict(NEOX, model_type="gpt_neox"), "GPTNeoXForCausalLM", neox),
    "mpt": ({"model_type": "mpt", "d_model": 24, "n_heads": 6, "n_layers": 2, "expansion_ratio": 4,
             "max_seq_len": 16, "vocab_size": 12}, "MptForCausalLM", tied("transformer.wte.weight")),
    "qwen2_moe": (dict(EXPERTS, model_type="qwen2_moe", shared_expert_intermediate_size=12,
                       norm_topk_prob=False, mlp_only_layers=[1]), "Qwen2MoeForCausalLM", deepseek),
    "qwen3_moe": (dict(EXPERTS, model_type="qwen3_moe", head_dim=8, norm_topk_prob=True),
                  "Qwen3MoeForCausalLM", deepseek),
    "gpt_oss": (dict(GROUPED, model_type="gpt_oss", head_dim=8, num_local_experts=4,
                     num_experts_per_tok=2, sliding_window=3, attention_bias=True,
                     capacity_factor=2, rope_theta=150000.0, rope_scaling=SCALED),
                "GptOssForCausalLM", str),
    "olmo2": (dict(GROUPED, model_type="olmo2"), "Olmo2ForCausalLM", str),
    "olmo3": (dict(GROUPED, model_type="olmo3", num_hidden_layers=3, sliding_window=3,
                   layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                   rope_parameters={"sliding_attention": {"rope_type": "default", "rope_theta": 20.0},
                                    "full_attention": dict(SCALED, rope_theta=100.0)}),
              "Olmo3ForCausalLM", str),
    "exaone4": (dict(GROUPED, model_type="exaone4", num_hidden_layers=4, sliding_window=3),
                "Exaone4ForCausalLM", str),
    "seed_oss": (dict(GROUPED, model_type="seed_oss", head_dim=8, attention_out_bias=True),
                 "SeedOssForCausalLM", str),
    "arcee": (dict(GROUPED, model_type="arcee"), "ArceeForCausalLM", str),
    "helium": (dict(GROUPED, model_type="helium", head_dim=4), "HeliumForCausalLM", str),
    "ernie4_5": (dict(GROUPED, model_type="ernie4_5", head_dim=8, use_bias=True),
                 "Ernie4_5ForCausalLM", str),
    "ernie4_5_moe": (dict(GROUPED, model_type="ernie4_5_moe", moe_intermediate_size=8,
                          moe_num_experts=4, moe_k=2, moe_num_shared_experts=2,
                          moe_layer_start_index=1, capacity_factor=2),
                     "Ernie4_5_MoeForCausalLM", ernie),
    "dots1": (dict(LATENT, model_type="dots1", num_attention_heads=4, num_key_value_heads=2,
                   head_dim=8, n_shared_experts=1, norm_topk_prob=True, sliding_window=None,
                   routed_scaling_factor=1.5), "Dots1ForCausalLM", deepseek),
    "granitemoe": (dict(GROUPED, model_type="granitemoe", num_local_experts=4,
                        num_experts_per_tok=2, embedding_multiplier=6.0, logits_scaling=4.0,
                        residual_multiplier=0.3, attention_multiplier=0.2, capacity_factor=2),
                   "GraniteMoeForCausalLM", granite),
    "qwen2, windows": (dict(GROUPED, model_type="qwen2", use_sliding_window=True, sliding_window=3,
                            max_window_layers=1), "Qwen2ForCausalLM", str),
    "gpt2, scales": ({"model_type": "gpt2", "n_embd": 16, "n_head": 2, "n_layer": 2,
                      "n_positions": 64, "vocab_size": 12, "scale_attn_weights": False,
                      "scale_attn_by_inverse_layer_idx": True}, "GPT2LMHeadModel",
                     tied("transformer.wte.weight")),
    "mamba2, limits": ({"model_type": "mamba2", "hidden_size": 16, "num_hidden_layers": 2,
                        "vocab_size": 12, "state_size": 4, "num_heads": 8, "head_dim": 4,
                        "n_groups": 2, "chunk_size": 4, "tie_word_embeddings": False,
                        "time_step_limit": [0.5, 0.7]}, "Mamba2ForCausalLM", str),
    "nemotron, as saved": (dict(GROUPED, model_type="nemotron",
                                rope_parameters={"rope_type": "default", "rope_theta": 100.0,
                                                 "partial_rotary_factor": 1.0}),
                           "NemotronForCausalLM", str),
    "deepseek v3, as saved": (dict(LATENT, model_type="deepseek_v3", n_shared_experts=1,
                                   q_lora_rank=12, norm_topk_prob=True, rope_interleave=False,
                                   routed_scaling_factor=2.5,
                                   rope_parameters=dict(YARN, rope_type="yarn", rope_theta=100.0)),
                              "DeepseekV3ForCausalLM", deepseek),
    "granite": (dict(GROUPED, model_type="granite", embedding_multiplier=6.0, logits_scaling=4.0,
                     residual_multiplier=0.3, attention_multiplier=0.2), "GraniteForCausalLM", str),
    "starcoder2": (dict(GROUPED, model_type="starcoder2", sliding_window=3,
                        tie_word_embeddings=True), "Starcoder2ForCausalLM", EMBED),
    "stablelm": (dict(GROUPED, model_type="stablelm", partial_rotary_factor=0.5, use_qkv_bias=True),
                 "StableLmForCausalLM", str),
    "stablelm, norms of heads": (dict(GROUPED, model_type="stablelm", partial_rotary_factor=0.5,
                                      qk_layernorm=True, use_parallel_residual=True),
                                 "StableLmForCausalLM", str),
    "cohere": (dict(GROUPED, model_type="cohere", logit_scale=0.25, tie_word_embeddings=True),
               "CohereForCausalLM", EMBED),
    "cohere, norms of heads": (dict(GROUPED, model_type="cohere", use_qk_norm=True,
                                    tie_word_embeddings=True), "CohereForCausalLM", EMBED),
    "cohere2": (dict(GROUPED, model_type="cohere2", num_hidden_layers=4, sliding_window=3,
                     tie_word_embeddings=True), "Cohere2ForCausalLM", EMBED),
    "olmo": (dict(GROUPED, model_type="olmo", clip_qkv=0.4), "OlmoForCausalLM", str),
    "olmoe": (dict(GROUPED, model_type="olmoe", num_experts=4, num_experts_per_tok=2, clip_qkv=0.8,
                   capacity_factor=2), "OlmoeForCausalLM", deepseek),
    "gptj": ({"model_type": "gptj", "n_embd": 16, "n_head": 2, "n_layer": 2, "n_positions": 64,
              "rotary_dim": 4, "vocab_size": 12}, "GPTJForCausalLM", str),
    "bloom": ({"model_type": "bloom", "hidden_size": 24, "n_head": 6, "n_layer": 2,
               "vocab_size": 12}, "BloomForCausalLM", tied("transformer.word_embeddings.weight")),
    "smollm3": (dict(GROUPED, model_type="smollm3", num_hidden_layers=3, no_rope_layer_interval=2,
                     tie_word_embeddings=True, pad_token_id=0), "SmolLM3ForCausalLM", EMBED),
    "glm4": (dict(GROUPED, model_type="glm4", head_dim=8, pad_token_id=0), "Glm4ForCausalLM", str),
    "glm4_moe": (dict(LATENT, model_type="glm4_moe", num_attention_heads=4, head_dim=8,
                      num_key_value_heads=2, n_shared_experts=1, use_qk_norm=True,
                      partial_rotary_factor=0.5, norm_topk_prob=True, routed_scaling_factor=1.5),
                 "Glm4MoeForCausalLM", deepseek),
    "kimi_k2": (dict(LATENT, model_type="kimi_k2", n_shared_experts=1, q_lora_rank=12, n_group=1,
                     topk_group=1, scoring_func="sigmoid", routed_scaling_factor=2.8,
                     norm_topk_prob=True, rope_theta=50000.0), "DeepseekV3ForCausalLM", deepseek),
    "minimax_m2": (dict(GROUPED, model_type="minimax_m2", head_dim=8, rotary_dim=4,
                        num_local_experts=4, num_experts_per_tok=2, capacity_factor=2),
                   "MiniMaxM2ForCausalLM", mixtral),
    "nemotron": (dict(GROUPED, model_type="nemotron"), "NemotronForCausalLM", str),
    "whisper": ({"model_type": "whisper", "d_model": 16, "encoder_layers": 2, "decoder_layers": 2,
                 "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 24,
                 "decoder_ffn_dim": 24, "vocab_size": 12, "num_mel_bins": 6,
                 "max_source_positions": 5, "max_target_positions": 8, "pad_token_id": 0,
                 "decoder_start_token_id": 1, "bos_token_id": 1, "eos_token_id": 2},
                "WhisperForConditionalGeneration", tied("model.decoder.embed_tokens.weight"),
                "batch=2,target_seq=5"),
    "clip": ({"model_type": "clip", "projection_dim": 8,
              "text_config": dict(TOWER, hidden_size=16, vocab_size=12, eos_token_id=2,
                                  max_position_embeddings=8),
              "vision_config": dict(TOWER, hidden_size=24, image_size=8, patch_size=4)},
             "CLIPModel", str, "texts=2,seq=6,images=2"),
    "mamba": ({"model_type": "mamba", "hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 12,
               "state_size": 4, "time_step_rank": 3}, "MambaForCausalLM",
              tied("backbone.embeddings.weight")),
    "mamba2": ({"model_type": "mamba2", "hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 12,
                "state_size": 4, "num_heads": 8, "head_dim": 4, "n_groups": 2, "chunk_size": 4,
                "tie_word_embeddings": False}, "Mamba2ForCausalLM", str),
    "megatron_gpt": ({"model_type": "megatron_gpt", "num_layers": 2, "hidden_size": 16,
                      "num_attention_heads": 4, "ffn_hidden_size": 24,
                      "max_position_embeddings": 64, "vocab_size": 12,
                      "make_vocab_size_divisible_by": 4, "position_embedding_type": "rope",
                      "rotary_percent": 0.5, "hidden_dropout": 0, "attention_dropout": 0,
                      "untie_embeddings_and_output_weights": True},
                     "GPTNeoXForCausalLM", megatron, None, dict(NEOX, use_parallel_residual=False)),
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
    "roberta": ({"model_type": "roberta", "hidden_size": 16, "num_hidden_layers": 2,
                 "num_attention_heads": 4, "intermediate_size": 24, "vocab_size": 12,
                 "max_position_embeddings": 10, "type_vocab_size": 2, "hidden_act": "gelu",
                 "pad_token_id": 1}, "RobertaModel", lambda name: "roberta." + name),
    "distilbert": ({"model_type": "distilbert", "dim": 16, "n_layers": 2, "n_heads": 4,
                    "hidden_dim": 24, "vocab_size": 12, "max_position_embeddings": 8},
                   "DistilBertModel", lambda name: "distilbert." + name),
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
    if kind == "clip":
        size = config["vision_config"]["image_size"]
        return {"input_ids": ids("input_ids", (BATCH, SEQ), config["text_config"]["vocab_size"]),
                "pixel_values": torch.tensor(numbers("pixel_values", (BATCH, 3, size, size)))}
    vocabulary = config.get("text_config", config)["vocab_size"]
    if kind == "whisper":
        shape = (BATCH, config["num_mel_bins"], 2 * config["max_source_positions"])
        return {"input_features": torch.tensor(numbers("input_features", shape)),
                "decoder_input_ids": ids("decoder_input_ids", (BATCH, TARGET), vocabulary)}
    if kind == "t5":
        return {"input_ids": ids("input_ids", (BATCH, SEQ), vocabulary),
                "decoder_input_ids": ids("decoder_input_ids", (BATCH, TARGET), vocabulary)}
    given = {"input_ids": ids("input_ids", (BATCH, SEQ), vocabulary)}
    if kind in ("bert", "roberta"):
        given["token_type_ids"] = ids("token_type_ids", (BATCH, SEQ), 2)
    return given


def outputs_of(kind, out):
    if kind in ("bert", "roberta"):
        return [out.last_hidden_state, out.pooler_output]
    if kind == "distilbert":
        return [out.last_hidden_state]
    return [out.logits_per_image, out.logits_per_text] if kind == "clip" else [out.logits]


def main():
    for name, (config, architecture, rename, *rest) in CONFIGS.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        theirs = rest[1] if len(rest) > 1 else config
        values = {k: v for k, v in theirs.items() if k not in ("model_type", "capacity_factor")}
        config_class = getattr(transformers, architecture).config_class
        made = config_class(**values)
        # Eager attention of Falcon adds ALiBi twice, once of them in its mask.
        made._attn_implementation = "sdpa" if config.get("alibi") else "eager"
        model = fill(getattr(transformers, architecture)(made), rename)
        with torch.no_grad():
            out = model(**inputs_of(config))
        outputs = outputs_of(config["model_type"], out)
        outputs = [[float(f"{x:.7g}") for x in y.flatten().tolist()] for y in outputs]
        row = {"name": name, "config": config}
        if rest and rest[0]:
            row["dims"] = rest[0]
        print(json.dumps(dict(row, outputs=outputs)))


if __name__ == "__main__":
    sys.exit(main())

"""Models that scripts/models builds from configs, beside transformers' own: a tiny model of each type with
random weights, saved as transformers saves it, opened by the program with these weights; logits of a
batch of tokens must be equal.

part_models.py DIMSCOPE FOLDER [TYPE..]
"""

import json
import os
import subprocess
import sys

import numpy
import torch
import transformers

NO_CAUSAL = ("bert", "roberta", "xlm-roberta", "distilbert")  # the body of a classifier is compared
SHAPE = (2, 9)

BASE = dict(vocab_size=96, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=64, pad_token_id=0)
GROUPED = dict(BASE, num_key_value_heads=2)
WIDE = dict(GROUPED, head_dim=24)
FOUR = dict(GROUPED, num_hidden_layers=4, sliding_window=5)
EXPERTS = dict(GROUPED, num_local_experts=4, num_experts_per_tok=2)
GPT2 = dict(vocab_size=96, n_embd=64, n_layer=2, n_head=4, n_positions=64)
MOE = dict(GROUPED, num_experts_per_tok=2, moe_intermediate_size=48, n_routed_experts=4, n_shared_experts=1,
           first_k_dense_replace=1, n_group=1, topk_group=1)
LATENT = dict(MOE, num_key_value_heads=4, kv_lora_rank=16, q_lora_rank=24, qk_rope_head_dim=8,
              qk_nope_head_dim=12, v_head_dim=16)
GROUPS = dict(n_routed_experts=8, n_group=2, topk_group=1)
ROPE = dict(rope_theta=10000.0)
ENCODER = dict(BASE, max_position_embeddings=66, pad_token_id=1)
YARN = dict(ROPE, rope_type="yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0)
BIASES = dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True)
SECTIONS = dict(GROUPED, rope_parameters=dict(ROPE, rope_type="default", mrope_section=[2, 3, 3]))
LLAMA4 = dict(GROUPED, head_dim=16, num_hidden_layers=4, num_local_experts=4, num_experts_per_tok=1,
              intermediate_size_mlp=80, attention_chunk_size=32)

DELTA = dict(GROUPED, head_dim=24, num_hidden_layers=4, linear_key_head_dim=8, linear_value_head_dim=12,
             linear_num_key_heads=2, linear_num_value_heads=4, num_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=48, shared_expert_intermediate_size=40,
             rope_parameters=dict(ROPE, rope_type="default", partial_rotary_factor=0.5, mrope_section=[2, 2, 2]))

# Models of images whose language model is built, and its type.
PARTS = {"llava": "llama", "mistral3": "mistral", "internvl": "qwen2", "gemma3": "gemma3_text",
         "qwen2_vl": "qwen2_vl_text", "qwen2_5_vl": "qwen2_5_vl_text", "qwen3_vl": "qwen3_vl_text",
         "glm4v": "glm4v_text", "llama4": "llama4_text",
         "qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text"}
VISION = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, depth=1, num_heads=2, num_attention_heads=2,
              out_hidden_size=64, embed_dim=32)


def long_rope(length):
    rope = dict(ROPE, rope_type="longrope", short_factor=[1.1] * 8, long_factor=[2.2] * 8)
    return dict(rope_parameters=dict(rope, original_max_position_embeddings=length),
                original_max_position_embeddings=length)


# Per type: the config, then what each further model has otherwise.
TYPES = {
    "llama": [GROUPED, dict(rope_parameters=YARN), dict(rope_parameters=dict(ROPE, rope_type="linear", factor=4.0)),
              dict(rope_parameters=dict(ROPE, rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                                        high_freq_factor=4.0, original_max_position_embeddings=32)),
              BIASES, dict(head_dim=24), dict(hidden_act="gelu_pytorch_tanh"),
              dict(max_position_embeddings=4, rope_parameters=dict(ROPE, rope_type="dynamic", factor=2.0))],
    "mistral": [dict(GROUPED, sliding_window=5), dict(head_dim=24, sliding_window=None)],
    "qwen2": [GROUPED, dict(use_sliding_window=True, sliding_window=4, max_window_layers=1),
              dict(rope_parameters=YARN)],
    "qwen3": [WIDE, dict(attention_bias=True, tie_word_embeddings=True),
              dict(use_sliding_window=True, sliding_window=4, max_window_layers=1)],
    "gemma": [dict(GROUPED, head_dim=16), dict(hidden_act="gelu")],
    "gemma2": [dict(FOUR, head_dim=16, query_pre_attn_scalar=16),
               dict(attn_logit_softcapping=None, final_logit_softcapping=None)],
    "gemma3_text": [dict(FOUR, head_dim=16, num_hidden_layers=7, query_pre_attn_scalar=16),
                    dict(rope_parameters={
                        "sliding_attention": dict(rope_type="default", rope_theta=1000.0),
                        "full_attention": dict(rope_type="linear", factor=8.0, rope_theta=100000.0)}),
                    dict(attn_logit_softcapping=5.0, final_logit_softcapping=7.0)],
    "cohere": [GROUPED, dict(use_qk_norm=True), dict(logit_scale=0.5, attention_bias=True)],
    "cohere2": [FOUR],
    "glm": [dict(GROUPED, head_dim=16), dict(attention_bias=False, partial_rotary_factor=1.0)],
    "hunyuan_v1_dense": [WIDE, dict(rope_parameters=dict(ROPE, rope_type="dynamic", alpha=50.0, factor=1.0)), BIASES],
    "apertus": [GROUPED, dict(hidden_act="gelu", attention_bias=True)],
    "lfm2": [dict(GROUPED, num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], block_multiple_of=8),
             dict(conv_bias=True, conv_L_cache=4, block_auto_adjust_ff_dim=False, tie_word_embeddings=False)],
    "ministral": [dict(FOUR, head_dim=16, layer_types=["sliding_attention", "full_attention"] * 2),
                  dict(layer_types=["full_attention"] * 4)],
    "ministral3": [dict(WIDE, sliding_window=None, rope_parameters=dict(
        YARN, original_max_position_embeddings=4, llama_4_scaling_beta=0.1, mscale=1.0, mscale_all_dim=1.0)),
                   dict(sliding_window=5)],
    "internlm3": [GROUPED, dict(attention_bias=True, mlp_bias=True, head_dim=24)],
    "solar_open": [dict(MOE, head_dim=24), dict(GROUPS, attention_bias=True, norm_topk_prob=False)],
    "glm4_moe_lite": [dict(LATENT, **GROUPS), dict(q_lora_rank=None, mlp_layer_types=["sparse", "dense"]),
                      dict(num_attention_heads=5, num_key_value_heads=5)],
    "vaultgemma": [dict(FOUR, head_dim=16, query_pre_attn_scalar=16),
                   dict(attn_logit_softcapping=None, final_logit_softcapping=None)],
    "jais2": [GROUPED, dict(attention_bias=False, mlp_bias=False)],
    "hunyuan_v1_moe": [dict(WIDE, num_experts=4, moe_topk=2), dict(attention_bias=True, moe_topk=[1, 1])],
    "lfm2_moe": [dict(GROUPED, num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], num_dense_layers=1,
                      num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48),
                 dict(conv_bias=True, use_expert_bias=False, norm_topk_prob=False, routed_scaling_factor=2.5)],
    "glm4": [dict(GROUPED, head_dim=16), dict(attention_bias=True, partial_rotary_factor=1.0)],
    "granite": [dict(GROUPED, embedding_multiplier=2.0, attention_multiplier=0.2, residual_multiplier=0.5,
                     logits_scaling=3.0), BIASES],
    "granitemoe": [EXPERTS, dict(embedding_multiplier=2.0, attention_multiplier=0.2, logits_scaling=3.0)],
    "nemotron": [GROUPED, dict(BIASES, partial_rotary_factor=0.25, tie_word_embeddings=False)],
    "olmo": [dict(GROUPED, clip_qkv=None), dict(clip_qkv=0.1)],
    "olmo2": [GROUPED, dict(attention_bias=True)],
    "olmo3": [FOUR, dict(rope_parameters={
        "sliding_attention": dict(rope_type="default", rope_theta=500000.0), "full_attention": YARN})],
    "exaone4": [FOUR, dict(sliding_window=None, layer_types=["full_attention"] * 4)],
    "ernie4_5": [dict(GROUPED, head_dim=16), dict(use_bias=True)],
    "ernie4_5_moe": [dict(GROUPED, moe_intermediate_size=48, moe_num_experts=4, moe_k=2, moe_num_shared_experts=1,
                          moe_layer_start_index=1), dict(moe_num_shared_experts=0, moe_layer_start_index=0)],
    "seed_oss": [WIDE, dict(attention_out_bias=True, mlp_bias=True)],
    "arcee": [WIDE, BIASES],
    "helium": [dict(GROUPED, head_dim=16)],
    "dots1": [dict(MOE, head_dim=16, sliding_window=None), GROUPS],
    "phi": [GROUPED, dict(qk_layernorm=True)],
    "phi3": [GROUPED, long_rope(32), long_rope(4), dict(partial_rotary_factor=0.5)],
    "smollm3": [dict(GROUPED, num_hidden_layers=4), dict(no_rope_layer_interval=2),
                dict(use_sliding_window=True, sliding_window=4)],
    "stablelm": [GROUPED, dict(use_qkv_bias=True, qk_layernorm=True),
                 dict(use_parallel_residual=True, partial_rotary_factor=0.5)],
    "starcoder2": [GROUPED, dict(use_bias=False, sliding_window=4)],
    "falcon": [dict(vocab_size=96, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                    new_decoder_architecture=True, num_kv_heads=2),
               dict(new_decoder_architecture=False, multi_query=True), dict(num_ln_in_parallel_attn=1)],
    "bloom": [dict(vocab_size=96, hidden_size=64, n_layer=2, n_head=4), dict(n_head=6, hidden_size=96)],
    "mpt": [dict(vocab_size=96, d_model=64, n_layers=2, n_heads=4, max_seq_len=64), dict(n_heads=3, d_model=48)],
    "gpt2": [GPT2, dict(n_inner=80, activation_function="relu"), dict(scale_attn_by_inverse_layer_idx=True),
             dict(scale_attn_weights=False)],
    "gptj": [dict(GPT2, rotary_dim=8), dict(rotary_dim=16)],
    "gpt_neox": [dict(BASE, rotary_pct=0.25), dict(use_parallel_residual=False), dict(attention_bias=False)],
    "opt": [dict(vocab_size=96, hidden_size=64, ffn_dim=96, num_hidden_layers=2, num_attention_heads=4,
                 max_position_embeddings=64, word_embed_proj_dim=64), dict(do_layer_norm_before=False),
            dict(word_embed_proj_dim=32), dict(enable_bias=False), dict(activation_function="gelu")],
    "mixtral": [EXPERTS, dict(sliding_window=4), dict(head_dim=24)],
    "minimax_m2": [dict(EXPERTS, head_dim=16, rotary_dim=8), dict(rotary_dim=16)],
    "gpt_oss": [dict(EXPERTS, head_dim=16, sliding_window=5), dict(num_hidden_layers=3)],
    "qwen2_moe": [dict(GROUPED, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48,
                       shared_expert_intermediate_size=40, decoder_sparse_step=1),
                  dict(norm_topk_prob=True, decoder_sparse_step=2), dict(mlp_only_layers=[0]), dict(qkv_bias=False)],
    "qwen3_moe": [dict(GROUPED, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, head_dim=16),
                  dict(norm_topk_prob=True, mlp_only_layers=[1])],
    "olmoe": [dict(GROUPED, num_experts=4, num_experts_per_tok=2), dict(clip_qkv=0.1, norm_topk_prob=True)],
    "deepseek_v2": [dict(LATENT, topk_method="greedy"), dict(GROUPS, topk_method="group_limited_greedy"),
                    dict(q_lora_rank=None), dict(attention_bias=True),
                    dict(rope_parameters=dict(YARN, mscale=0.707, mscale_all_dim=0.707))],
    "deepseek_v3": [dict(LATENT, **GROUPS), dict(q_lora_rank=None), dict(rope_interleave=False),
                    dict(norm_topk_prob=False), dict(rope_parameters=dict(YARN, mscale=1.0, mscale_all_dim=1.0))],
    "glm4_moe": [dict(MOE, head_dim=16), dict(GROUPS, use_qk_norm=True, attention_bias=True)],
    "mamba": [dict(vocab_size=96, hidden_size=64, num_hidden_layers=2, state_size=8),
              dict(use_bias=True, use_conv_bias=False), dict(tie_word_embeddings=False, expand=3)],
    "mamba2": [dict(vocab_size=96, hidden_size=64, num_hidden_layers=2, state_size=8, num_heads=8, head_dim=16,
                    n_groups=2, chunk_size=8, expand=2), dict(n_groups=1, time_step_limit=[0.01, 0.5])],
    "llama4_text": [LLAMA4, dict(attention_chunk_size=3), dict(attention_chunk_size=4, use_qk_norm=False),
                    dict(interleave_moe_layer_step=2, floor_scale=2, attn_scale=0.5),
                    dict(no_rope_layers=[1, 0, 0, 1], attn_temperature_tuning=False,
                         rope_parameters=dict(ROPE, rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                                              high_freq_factor=4.0, original_max_position_embeddings=32))],
    "qwen3_next": [DELTA, dict(norm_topk_prob=False, mlp_only_layers=[1], attention_bias=True),
                   dict(linear_num_value_heads=2, linear_conv_kernel_dim=3),
                   dict(layer_types=["full_attention", "linear_attention"], num_hidden_layers=2)],
    "granitemoehybrid": [dict(EXPERTS, num_hidden_layers=3, shared_intermediate_size=40, mamba_n_heads=8, mamba_d_head=16,
                              mamba_d_state=8, mamba_n_groups=2, mamba_chunk_size=8,
                              layer_types=["linear_attention", "full_attention", "linear_attention"]),
                         dict(num_local_experts=0, mamba_n_groups=1, position_embedding_type="rope"),
                         dict(embedding_multiplier=2.0, attention_multiplier=0.2, residual_multiplier=0.5,
                              logits_scaling=3.0, mamba_conv_bias=False, mamba_proj_bias=True)],
    "nemotron_h": [dict(GROUPED, head_dim=24, hybrid_override_pattern="ME*-M", ssm_state_size=8, mamba_num_heads=8,
                        mamba_head_dim=12, n_groups=2, chunk_size=8, n_routed_experts=4, num_experts_per_tok=2,
                        moe_intermediate_size=48, moe_shared_expert_intermediate_size=40),
                   dict(moe_latent_size=32, routed_scaling_factor=2.5, mlp_bias=True, use_bias=True),
                   dict(GROUPS, norm_topk_prob=False, use_conv_bias=False, time_step_min=0.1, hybrid_override_pattern="EM*")],
    "qwen3_5": [DELTA, dict(tie_word_embeddings=True, linear_num_value_heads=2)],
    "qwen3_5_moe": [DELTA, dict(linear_num_value_heads=2)],
    "llava": [GROUPED, dict(head_dim=24)],
    "mistral3": [WIDE, dict(sliding_window=5), dict(tie_word_embeddings=True)],
    "internvl": [GROUPED, dict(tie_word_embeddings=True)],
    "gemma3": [dict(FOUR, head_dim=16, num_hidden_layers=7, query_pre_attn_scalar=16, tie_word_embeddings=True)],
    "qwen2_vl": [SECTIONS, dict(sliding_window=None)],
    "qwen2_5_vl": [SECTIONS, dict(use_sliding_window=True, sliding_window=4, max_window_layers=1)],
    "qwen3_vl": [dict(WIDE, rope_parameters=dict(ROPE, rope_type="default", mrope_section=[4, 4, 4])),
                 dict(attention_bias=True, tie_word_embeddings=True)],
    "glm4v": [SECTIONS, dict(rope_parameters=dict(ROPE, rope_type="default", partial_rotary_factor=0.5,
                                                  mrope_section=[1, 1, 2]))],
    "llama4": [LLAMA4, dict(interleave_moe_layer_step=2, attention_chunk_size=4)],
    "bert": [BASE],
    "roberta": [ENCODER],
    "xlm-roberta": [ENCODER],
    "distilbert": [dict(vocab_size=96, dim=64, hidden_dim=96, n_layers=2, n_heads=4, max_position_embeddings=64)],
}


def around(kind, values):
    """The fields of a model of images, a small one, whose text_config has these."""
    vision = transformers.AutoConfig.for_model(kind).vision_config.to_dict()
    small = {name: value for name, value in VISION.items() if name in vision}
    tied = values.get("tie_word_embeddings", False)
    return dict(text_config=dict(values, model_type=PARTS[kind]), tie_word_embeddings=tied,
                vision_config=dict(small, model_type=vision["model_type"]))


def made(kind, values):
    """The model, every parameter moved from where it is initialized, so that no norm is 1 and no bias 0."""
    config = transformers.AutoConfig.for_model(kind, **(around(kind, values) if kind in PARTS else values))
    config._attn_implementation = "eager"
    auto = (transformers.AutoModelForSequenceClassification if kind in NO_CAUSAL
            else transformers.AutoModelForImageTextToText if kind in PARTS else transformers.AutoModelForCausalLM)
    torch.manual_seed(1)
    model = auto.from_config(config).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        for name, buffer in model.named_buffers():
            if "e_score" in name:
                buffer.copy_(0.1 * torch.rand_like(buffer))
    return model


def save(model, kind, place):
    os.makedirs(place, exist_ok=True)
    model.save_pretrained(place)
    path = os.path.join(place, "config.json")
    with open(path) as file:
        config = json.load(file)
    config["capacity_factor"] = "dropless"  # queues of experts drop tokens
    with open(path, "w") as file:
        json.dump(config, file)
    ids = torch.randint(2, 90, SHAPE)
    # transformers 5.24 cannot run a Llama 4 with images on ids alone.
    compared = model.base_model if kind in NO_CAUSAL else model.language_model if kind == "llama4" else model
    with torch.no_grad():
        out = compared(ids)
    numpy.save(os.path.join(place, "in_0.npy"), ids.numpy())
    if kind in NO_CAUSAL and kind != "distilbert":
        numpy.save(os.path.join(place, "in_1.npy"), numpy.zeros(SHAPE, numpy.int64))
    numpy.save(os.path.join(place, "out_0.npy"), (out.last_hidden_state if kind in NO_CAUSAL else out.logits).numpy())
    return path


def main():
    dimscope, folder, *kinds = sys.argv[1:]
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for kind in kinds or TYPES:
        base, *others = TYPES[kind]
        for i, change in enumerate([{}] + others):
            place = os.path.join(folder, f"{kind}-{i}")
            path = save(made(kind, dict(base, **change)), kind, place)
            command = [dimscope, "run", path, "--dim", f"batch={SHAPE[0]},seq={SHAPE[1]}", "--vectors", place,
                       "--weights", place] + (["--draw-missing"] if kind in NO_CAUSAL else [])
            ran = subprocess.run(command, capture_output=True, text=True)
            what = f"models {kind} {json.dumps(change)}"
            said = " ".join((ran.stdout + ran.stderr).split())
            print(f"ok {what}" if ran.returncode == 0 else f"not ok {what}: {said[:300]}", flush=True)


main()

/* Layers of several kinds that repeat: how the outline of whole models lists them. */
#include "tests/unit/model_text.h"

#include "tui/state/outline.h"

#define SIZES                                                                                      \
    "\"hidden_size\": 16, \"intermediate_size\": 32, \"num_attention_heads\": 2, "                 \
    "\"num_key_value_heads\": 1, \"head_dim\": 8, \"vocab_size\": 32, \"sliding_window\": 4, "
#define S "\"sliding_attention\", "
#define F "\"full_attention\""

/* 32 layers: attention in one of 8, experts in every second, as in Jamba (Lieber et al. 2024). */
static const char jamba[] =
    "function MODEL(model)\n"
    "  local x = model:input('x', 'f32', {2, 16})\n"
    "  for i = 0, 31 do\n"
    "    x = model:module('layers.' .. i, function()\n"
    "      x = model:module(i % 8 == 4 and 'self_attn' or 'mamba', function()\n"
    "        return model:op(i % 8 == 4 and 'Softmax' or 'Relu', {x}) end)\n"
    "      return model:module('feed_forward', function()\n"
    "        return model:op(i % 2 == 1 and 'Gelu' or 'Tanh', {x}) end)\n"
    "    end)\n"
    "  end\n"
    "  model:output(x)\n"
    "end\n";

/* As in Llama 4: three layers that attend in chunks, one that attends to all; every second has
 * experts. The builder gives the kinds. */
static const char llama4[] =
    "function MODEL(model)\n"
    "  local x = model:input('x', 'f32', {2, 16})\n"
    "  for i = 0, 11 do\n"
    "    local all, experts = i % 4 == 3, i % 2 == 1\n"
    "    local kind = (all and 'full' or 'chunked') .. (experts and ' moe' or '')\n"
    "    x = model:module('layers.' .. i, function()\n"
    "      x = model:op(all and 'Softmax' or 'Relu', {x})\n"
    "      return model:op(experts and 'Gelu' or 'Tanh', {x})\n"
    "    end, kind)\n"
    "  end\n"
    "  model:output(x)\n"
    "end\n";

typedef struct {
    const char *name, *text;
    const char *want;   /* rows of groups in which layers are */
    const char *policy; /* NULL for none */
} ModelRow;

static ModelRow rows[] = {
    {"gemma2: every second layer sees a window",
     "{\"model_type\": \"gemma2\", " SIZES "\"num_hidden_layers\": 26}", "[local, global] x13\n",
     NULL},
    {"gemma2, whose embedding is summed over tp for layer 0",
     "{\"model_type\": \"gemma2\", " SIZES "\"num_hidden_layers\": 26}", "[local, global] x13\n",
     "megatron"},
    {"gemma2, an odd number of layers",
     "{\"model_type\": \"gemma2\", " SIZES "\"num_hidden_layers\": 5}",
     "[local, global] x2\nlayers.4\n", NULL},
    {"five local layers and a global one, as in gemma3",
     "{\"model_type\": \"gemma2\", " SIZES "\"num_hidden_layers\": 14, \"layer_types\": "
     "[" S S S S S F ", " S S S S S F ", " S "\"sliding_attention\"]}",
     "[local ×5, global] x2\nlayers[12..13] x2\n", NULL},
    {"gpt_oss: sinks keep its attention spelled out, its kinds differ",
     "{\"model_type\": \"gpt_oss\", " SIZES "\"num_hidden_layers\": 4, \"num_local_experts\": 2, "
     "\"num_experts_per_tok\": 1}",
     "[local, global] x2\n", NULL},
    {"layers of one kind", "{\"model_type\": \"llama\", " SIZES "\"num_hidden_layers\": 4}",
     "layers[0..3] x4\n", NULL},
    {"layers of one kind, the first of which reads a sum over tp",
     "{\"model_type\": \"llama\", " SIZES "\"num_hidden_layers\": 4}", "layers[0..3] x4\n",
     "megatron"},
    {"words that do not tell kinds apart", jamba, "layers.0..7 x4\n", NULL},
    {"four kinds of a builder", llama4, "[chunked, chunked moe, chunked, full moe] x3\n", NULL},
};

static void layers_are(void **state)
{
    const ModelRow *row = *state;
    OpenedText o = model_text_open(row->text, "", "tp=2", row->policy);
    assert_string_equal(o.err.text, "");
    Outline *outline = outline_new(o.arena);
    outline_set(outline, o.session->graph, o.session->groups);
    outline_depth(outline, 2);
    Buf got = buf_new(o.arena);
    OutlineRow at;
    for (int64_t i = 0; outline_at(outline, i, &at); i++) {
        Buf label = buf_new(o.arena);
        outline_label(outline, &at, &label);
        if (at.kind != ROW_GROUP || at.depth > 1 ||
            (label.s[0] != '[' && !str_starts(buf_str(&label), STR("layers"))))
            continue;
        buf_add(&got, buf_str(&label));
        if (at.fold_n > 1)
            buf_printf(&got, " x%d", at.fold_n);
        buf_putc(&got, '\n');
    }
    assert_string_equal(got.s, row->want);
    outline_free(outline);
    model_text_close(&o);
}

int main(void)
{
    return run_rows("cycles", rows, layers_are);
}

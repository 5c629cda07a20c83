/* styles_names.c - what transformers calls a module of a checkpoint. */
#include "core/peers/torch/styling.h"

/* Modules that transformers 5 calls otherwise than its checkpoints do: parts of a path that begins
 * with `root`, in this order. */
static const struct {
    const char *root, *from, *to;
} renamed[] = {
    {"", "block_sparse_moe", "mlp"},
    {"", "embed_out", "lm_head"},
    {"vit", "encoder.layer", "layers"},
    {"vit", "attention.attention.query", "attention.q_proj"},
    {"vit", "attention.attention.key", "attention.k_proj"},
    {"vit", "attention.attention.value", "attention.v_proj"},
    {"vit", "attention.attention", "attention"},
    {"swin", "attention.self.query", "attention.q_proj"},
    {"swin", "attention.self.key", "attention.k_proj"},
    {"swin", "attention.self.value", "attention.v_proj"},
    {"swin", "attention.self", "attention"},
    {"vit", "attention.output.dense", "attention.o_proj"},
    {"swin", "attention.output.dense", "attention.o_proj"},
    {"vit", "intermediate.dense", "mlp.fc1"},
    {"swin", "intermediate.dense", "mlp.fc1"},
    {"vit", "output.dense", "mlp.fc2"},
    {"swin", "output.dense", "mlp.fc2"},
};

/* Where whole parts of the path are the text, or -1. */
static int64_t parts_at(Str path, Str text)
{
    int64_t at = str_find(path, text);
    size_t end = at < 0 ? 0 : (size_t)at + text.n;
    bool whole =
        at >= 0 && (at == 0 || path.s[at - 1] == '.') && (end == path.n || path.s[end] == '.');
    return whole ? at : -1;
}

Str torch_module_name(Arena *arena, Str path)
{
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        Str root = str_from(renamed[i].root), from = str_from(renamed[i].from);
        int64_t at = root.n == 0 || styling_within(path, root) ? parts_at(path, from) : -1;
        if (at < 0)
            continue;
        Buf out = buf_new(arena);
        buf_add(&out, (Str){path.s, (size_t)at});
        buf_puts(&out, renamed[i].to);
        buf_add(&out, (Str){path.s + at + from.n, path.n - (size_t)at - from.n});
        path = buf_str(&out);
    }
    return path;
}

/* styles_names.c - what transformers calls a module of a checkpoint, and what equal layers are
 * called together. */
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

/* How much of "encoder_layer_0" under "layers" is the name of all of them, as torchvision has it; 0
 * of other names. */
static size_t shared_name(Str parent, Str part)
{
    size_t n = part.n;
    while (n > 0 && part.s[n - 1] >= '0' && part.s[n - 1] <= '9')
        n--;
    if (n == part.n || n < 2 || part.s[n - 1] != '_' || parent.n < 2)
        return 0;
    Str one = {parent.s, parent.n - 1}, name = {part.s, n - 1};
    return parent.s[one.n] == 's' && str_ends(name, one) ? n : 0;
}

Str torch_pattern(Arena *arena, Str path, bool first)
{
    Buf out = buf_new(arena);
    bool found = false;
    for (Str parent = {0}; path.n > 0;) {
        Str part = str_take(&path, '.');
        size_t shared = found ? 0 : shared_name(parent, part);
        int64_t number;
        buf_puts(&out, out.n ? "." : "");
        bool numbered = shared > 0 || (!(first && found) && str_to_int(part, &number));
        buf_add(&out, numbered ? (Str){part.s, shared} : part);
        buf_puts(&out, numbered ? "*" : "");
        found |= numbered;
        parent = part;
    }
    return buf_str(&out);
}

bool torch_styles_change(const TorchStyles *styles, int32_t parameter)
{
    for (int i = 0; i < styles->modules.n; i++) {
        const StyledModule *m = &styles->modules.at[i];
        for (int k = 0; k < m->n_parameters; k++)
            for (int a = 0; a < MESH_AXES_MAX && m->parameter[k] == parameter; a++)
                if (m->style[a])
                    return true;
    }
    return false;
}

bool torch_styles_give(const TorchStyles *styles, const char *name)
{
    for (int i = 0; i < styles->modules.n; i++)
        for (int a = 0; a < MESH_AXES_MAX; a++) {
            const StyledModule *m = &styles->modules.at[i];
            const char *style = m->style[a] ? m->style[a] : m->inputs[a];
            if (style && str_starts(str_from(style), str_from(name)))
                return true;
        }
    return false;
}

bool torch_styles_pass_parts(const TorchStyles *styles, const Graph *graph)
{
    static const char *const words[] = {"local=False", "reads=", "SequenceParallel(", "Prepare",
                                        "use_local_output=False"};
    enum { N_WORDS = sizeof words / sizeof *words };
    for (int i = 0; i < styles->modules.n; i++)
        for (int a = 0; a < MESH_AXES_MAX; a++) {
            const StyledModule *m = &styles->modules.at[i];
            const char *style = m->style[a] ? m->style[a] : m->inputs[a];
            bool last = m->at.out >= 0 && graph->tensors[m->at.out].output;
            for (int k = 0; k < (last ? N_WORDS - 1 : N_WORDS) && style; k++)
                if (str_find(str_from(style), str_from(words[k])) >= 0)
                    return true;
        }
    return false;
}

bool torch_styles_may_tie(const TorchStyles *styles, const Graph *graph)
{
    bool ties = !str_ends(str_from(graph->file), STR(".json"));
    for (int32_t t = 0; t < styles->n_values && !ties; t++) {
        int n_readers = 0;
        for (int i = 0; i < tensor_n_uses(graph, t); i++)
            n_readers += graph->uses[graph->tensors[t].use + i] < styles->n_forward;
        ties = n_readers > 1 && torch_styles_change(styles, t);
    }
    return ties;
}

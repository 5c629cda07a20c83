#include "core/session/pins_read.h"

/* Names in a normal form, so that different exporters match: components separated by dots, without
 * wrapper modules, "h_0" as "h.0", and one word for a weight. */
struct PinsNames {
    Arena *arena;
    const Session *session;
    Names *whole, *tail;            /* canonical names, and their endings of two components or more
                                     */
    Vec(int32_t) of_whole, of_tail; /* per id: a tensor; -1 if none; -2 if several */
};

enum { TAILS_MAX = 12, COMPONENTS_MAX = 64 };

static bool is_listed(Str component, const char *words)
{
    return component.n > 0 && str_has_word(str_from(words), component);
}

/* Removes the next component of a.b/c['d'] from *rest, without separators and quotes. */
static Str next_component(Str *rest)
{
    const char *separators = "./[]'\"";
    while (rest->n > 0 && rest->s[0] && strchr(separators, rest->s[0]))
        *rest = (Str){rest->s + 1, rest->n - 1};
    size_t n = 0;
    while (n < rest->n && !(rest->s[n] && strchr(separators, rest->s[n])))
        n++;
    Str component = {rest->s, n};
    *rest = (Str){rest->s + n, rest->n - n};
    return component;
}

/* "h_0" is "h" and "0": where the number begins; 0 if the name ends with none. */
static size_t number_at(Str component)
{
    size_t n = component.n;
    while (n > 0 && is_digit(component.s[n - 1]))
        n--;
    return n < component.n && n > 1 && component.s[n - 1] == '_' ? n : 0;
}

/* The parameter's usual word in place of the exporter's. */
static Str plain_part(Str component, bool last)
{
    if (last && is_listed(component, "kernel embedding scale gamma w_0 weights"))
        return STR("weight");
    if (last && is_listed(component, "beta b_0"))
        return STR("bias");
    return component;
}

static void put_component(Str component, Buf *out)
{
    size_t number = number_at(component);
    buf_puts(out, out->n > 0 ? "." : "");
    if (number > 0) {
        buf_add(out, (Str){component.s, number - 1});
        buf_putc(out, '.');
        component = (Str){component.s + number, component.n - number};
    }
    buf_add(out, component);
}

static void canonical(Str name, Buf *out)
{
    static const char wrappers[] = "module model params variables state_dict _orig_mod "
                                   "_fsdp_wrapped_module _checkpoint_wrapped_module";
    int n = 0;
    out->n = 0;
    for (Str component = next_component(&name); component.n > 0 && n < COMPONENTS_MAX; n++) {
        Str next = next_component(&name);
        component = plain_part(component, next.n == 0);
        if (next.n == 0 || !is_listed(component, wrappers))
            put_component(component, out);
        component = next;
    }
}

/* ---- the model's names ---- */

static bool is_given(const PinsNames *names, int32_t tensor)
{
    return tensor >= 0 && names->session->graph->tensors[tensor].kind != TENSOR_MADE;
}

/* The one that a name is of; a view of a parameter has its label, and gives way to it. */
static int32_t one_of(const PinsNames *names, int32_t had, int32_t tensor)
{
    if (had == -1 || had == tensor)
        return tensor;
    bool old = is_given(names, had), now = is_given(names, tensor);
    return old == now || had < 0 ? -2 : old ? had : tensor;
}

static void put(PinsNames *names, bool tail, Str text, int32_t tensor)
{
    Names *index = tail ? names->tail : names->whole;
    int32_t id = names_intern(index, text);
    int32_t *of = tail ? names->of_tail.at : names->of_whole.at;
    int n = tail ? names->of_tail.n : names->of_whole.n;
    if (id < n) {
        of[id] = one_of(names, of[id], tensor);
    } else if (tail) {
        vec_push_own(names->arena, &names->of_tail, tensor);
    } else {
        vec_push_own(names->arena, &names->of_whole, tensor);
    }
}

static Str after_dot(Str text)
{
    const char *dot = text.n > 0 ? memchr(text.s, '.', text.n) : NULL;
    size_t n = dot ? (size_t)(dot - text.s) + 1 : text.n;
    return (Str){text.s + n, text.n - n};
}

static void put_name(PinsNames *names, Str name, int32_t tensor, bool tails, Buf *text)
{
    canonical(name, text);
    if (text->n == 0)
        return;
    put(names, false, buf_str(text), tensor);
    Str tail = after_dot(buf_str(text));
    for (int i = 0; tails && i < TAILS_MAX && after_dot(tail).n > 0; i++, tail = after_dot(tail))
        put(names, true, tail, tensor);
}

/* Indexes parameters by their label and their own name, values by their names: parameters first. */
static void index_tensors(PinsNames *names)
{
    const Session *session = names->session;
    Buf text = buf_new(names->arena);
    int32_t n = session->graph->n_tensors;
    for (int32_t i = 0; i < 2 * n; i++) {
        int32_t t = i < n ? i : i - n;
        const char *own = tensor_name(session->graph, t);
        const char *label = naming_label(session->naming, t);
        if (is_given(names, t) != (i < n))
            continue;
        put_name(names, str_from(own), t, i < n, &text);
        if (label != own && strcmp(label, own) != 0)
            put_name(names, str_from(label), t, true, &text);
    }
}

PinsNames *pins_names_new(Arena *scratch, const Session *session)
{
    PinsNames *names = arena_make(scratch, PinsNames);
    *names = (PinsNames){.arena = scratch, .session = session};
    names->whole = names_new(scratch);
    names->tail = names_new(scratch);
    vec_push(scratch, &names->of_whole, -1); /* of the empty name */
    vec_push(scratch, &names->of_tail, -1);
    index_tensors(names);
    return names;
}

static int32_t find(const PinsNames *names, bool tail, Str text)
{
    int32_t id = names_find(tail ? names->tail : names->whole, text);
    return id < 0 ? -1 : tail ? names->of_tail.at[id] : names->of_whole.at[id];
}

PinsFound pins_find(PinsNames *names, Str name)
{
    Buf text = buf_new(names->arena);
    canonical(name, &text);
    int32_t tensor = find(names, false, buf_str(&text));
    if (tensor == -1 && after_dot(buf_str(&text)).n > 0)
        tensor = find(names, true, buf_str(&text));
    Str rest = after_dot(buf_str(&text));
    for (int i = 0; tensor == -1 && i < TAILS_MAX && after_dot(rest).n > 0; i++) {
        tensor = find(names, false, rest);
        rest = after_dot(rest);
    }
    arena_release(names->arena, text.s);
    return (PinsFound){tensor, tensor >= 0};
}

/* ---- the orientation of a matrix ---- */

/* Whether the text has the matrix transposed. "kernel" is JAX's word, w_0 Paddle's: they store
 * inputs by outputs. torch's Linear stores the transpose; an exporter that transposed it gave it
 * another name. */
static MatrixOrder matrix_order_by_name(const Session *session, Str name, bool placed,
                                        int32_t tensor)
{
    const char *own = tensor_name(session->graph, tensor);
    bool renamed =
        str_starts(str_from(own), STR("onnx::MatMul_")) || str_starts(str_from(own), STR("val_"));
    if (str_eq(name, str_from(own)))
        return MATRIX_UNKNOWN;
    if (str_ends(name, STR("kernel")) || str_ends(name, STR("kernel']")) ||
        str_ends(name, STR(".w_0")))
        return MATRIX_IN_OUT;
    return placed && str_ends(name, STR("weight")) && renamed ? MATRIX_OUT_IN : MATRIX_UNKNOWN;
}

bool pins_is_turned(const Session *session, Str name, bool placed, int32_t tensor)
{
    const Shape *shape = inferred_shape(session->inferred, tensor);
    if (!shape || shape->n_dims != 2)
        return false;
    MatrixOrder text = matrix_order_by_name(session, name, placed, tensor);
    MatrixOrder model = naming_matrix(session->inferred, tensor);
    return text != MATRIX_UNKNOWN && model != MATRIX_UNKNOWN && text != model;
}

#include "tui/views/label.h"

#include "core/base/units.h"
#include "core/plan/stage.h"

#include <ctype.h>

const char *label_operator(const Graph *graph, int32_t op)
{
    const char *name = op_operator(graph, op), *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

Str label_op(const Session *session, Arena *arena, int32_t op)
{
    const Graph *graph = session->graph;
    const char *path = op_path(graph, op), *name = op_name(graph, op);
    int32_t group = session->groups->group_of[op];
    bool alone = group >= 0 && session->groups->groups[group].n == 1;

    if (!*path)
        return str_from(name);
    if (alone)
        return str_from(path);
    return str_from(arena_printf(arena, "%s/%s", path, path_base(name)));
}

Str label_tensor(const Session *session, Arena *arena, int32_t tensor)
{
    const Graph *graph = session->graph;
    int32_t maker = graph->tensors[tensor].maker;

    if (maker < 0 || session->inferred->on_parameters[maker] ||
        inferred_is_host(session->inferred, maker))
        return str_from(naming_label(session->naming, tensor));
    const Groups *groups = session->groups;
    const Group *group = &groups->groups[groups->group_of[maker]];
    if (graph->ops[maker].path != 0 && groups->order[group->first + group->n - 1] == maker &&
        graph->ops[maker].n_outputs == 1)
        return str_from(arena_printf(arena, "%s.out", op_path(graph, maker)));
    int which = 0;
    while (which < graph->ops[maker].n_outputs && op_outputs(graph, maker)[which] != tensor)
        which++;
    Str op = label_op(session, arena, maker);
    if (graph->ops[maker].n_outputs < 2)
        return str_from(arena_printf(arena, "%.*s out", STR_ARG(op)));
    return str_from(arena_printf(arena, "%.*s out %d", STR_ARG(op), which));
}

Str label_sharding(const Ui *ui, int32_t sharding)
{
    Buf text = buf_new(ui->frame);

    sharding_format(shardings_at(ui_plan(ui)->shardings, sharding), ui->session->mesh,
                    ui->ascii ? VIEW_OURS_ASCII : VIEW_OURS, &text, NULL);
    return buf_str(&text);
}

Str label_value(const Ui *ui, int32_t tensor, int32_t sharding)
{
    Buf text = buf_new(ui->frame);

    if (sharding >= 0)
        return label_sharding(ui, sharding);
    if (tensor >= 0)
        label_put_shape(ui->session->inferred, tensor, &text);
    return buf_str(&text);
}

/* What a size is called, without the modules before the name; "/2" is no name. */
static Str base_name(Str word)
{
    for (size_t i = word.n; i-- > 1;)
        if (word.s[i - 1] == '/' && !isdigit((unsigned char)word.s[i]))
            return (Str){word.s + i, word.n - i};
    return word;
}

void label_put_shape(const Inferred *inferred, int32_t tensor, Buf *out)
{
    Buf whole = buf_new(out->arena);

    inferred_put_shape(inferred, tensor, &whole);
    for (const char *s = whole.s; *s;) {
        size_t n = strcspn(s, ",*+() ");
        buf_add(out, base_name((Str){s, n}));
        s += n;
        if (*s)
            buf_putc(out, *s++);
    }
}

static bool is_shaped(const Inferred *inferred, int32_t tensor)
{
    return tensor < 0 || inferred->shape[tensor] >= 0;
}

/* The rule has a finding against an op of this kind. */
static bool is_refused(const Session *session, int32_t op)
{
    const Findings *findings = &session->inferred->findings;

    for (int i = 0; i < findings->n; i++)
        if (strcmp(findings->at[i].code, "rule-refused") == 0 &&
            session->graph->ops[findings->at[i].op].operator== session->graph->ops[op].operator)
            return true;
    return false;
}

const char *label_no_rule(const Session *session, int32_t op)
{
    const Inferred *inferred = session->inferred;
    const GraphOp *node = &session->graph->ops[op];
    const int32_t *operands = session->graph->operands;
    bool shaped = true, listed = false;

    for (int32_t i = 0; i < node->n_inputs + node->n_outputs; i++) {
        int32_t t = operands[node->input + i];
        shaped &= is_shaped(inferred, t);
        listed |= t >= 0 && inferred->listed && inferred->listed[t];
    }
    if (listed)
        return "reads or makes a sequence: replicated";
    if (!registry_find(inferred->registry, str_from(op_operator(session->graph, op))))
        return "no rule: replicated";
    if (!shaped)
        return "not all sizes are known: replicated";
    return is_refused(session, op) ? "its rule refuses it: replicated, F says why"
                                   : "what size it gives only the run tells: replicated";
}

Str label_bytes(const Ui *ui, int64_t bytes)
{
    Buf text = buf_new(ui->frame);
    units_format_bytes(bytes, &text);
    return buf_str(&text);
}

Str label_us(const Ui *ui, double us)
{
    Buf text = buf_new(ui->frame);
    units_format_us(us, &text);
    return buf_str(&text);
}

const char *label_pass(const Plan *plan)
{
    return plan->stages && plan->stages->n_micro_batches > 1 ? "micro-batch" : "step";
}

const char *label_tensor_kind(const Ui *ui, int32_t tensor)
{
    const Session *session = ui->session;

    if (tensor_is_parameter(session->inferred, tensor))
        return "parameter";
    if (inferred_value(session->inferred, tensor))
        return "constant";
    if (session->graph->tensors[tensor].maker < 0)
        return "input";
    return session->graph->tensors[tensor].output ? "output" : "activation";
}

Str label_pin(const Ui *ui, const Decision *pin)
{
    if (pin->origin.kind != ORIGIN_POLICY)
        return pin->origin.kind == ORIGIN_USER ? STR("by you") : STR("by search");
    return str_from(
        arena_printf(ui->frame, "%s:%d", path_base(pin->origin.file), pin->origin.line));
}

void label_origin(const Origin *origin, Buf *out)
{
    if (origin->kind == ORIGIN_POLICY)
        buf_printf(out, "%s:%d  ", path_base(origin->file), origin->line);
    else
        buf_puts(out, origin->kind == ORIGIN_USER ? "by you  " : "by search  ");
    buf_puts(out, origin->text ? origin->text : "");
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The word at the start of text, and its style: an axis has its colour. */
static Str word_at(const Ui *ui, Str text, bool in_word, Style *style)
{
    Str word = {text.s, 1};

    *style = ROLE_TEXT;
    if (in_word || !is_name(text.s[0]))
        return word;
    while (word.n < text.n && is_name(text.s[word.n]))
        word.n++;
    int axis = mesh_find_axis(ui->session->mesh, word);
    if (axis >= 0)
        *style = style_axis(axis);
    return word;
}

static const char sigma[] = "Σ";

static void draw_words(const Ui *ui, Pen *pen, Str text, int dim)
{
    int at_dim = 0, depth = 0;

    for (size_t i = 0; i < text.n;) {
        Str rest = {text.s + i, text.n - i};
        Style style;
        if (str_starts(rest, str_from(sigma))) {
            word_at(ui, (Str){rest.s + 2, rest.n - 2}, rest.n == 2, &style);
            pen_put(pen, style, (Str){rest.s, 2});
            i += 2;
            continue;
        }
        Str word = word_at(ui, rest, false, &style);
        uint32_t rune;
        size_t n = str_rune(rest, &rune);
        word.n = n > word.n ? n : word.n;
        depth += rest.s[0] == '(' || rest.s[0] == '[' ? 1 : 0;
        depth -= rest.s[0] == ')' || rest.s[0] == ']' ? 1 : 0;
        if (depth == 0 && (rest.s[0] == ',' || rest.s[0] == ' '))
            at_dim++;
        else if (at_dim == dim)
            style |= STYLE_UNDERLINE;
        pen_put(pen, style, word);
        i += word.n;
    }
}

void draw_sharding(const Ui *ui, Pen *pen, Str text, int dim, int columns)
{
    int end = pen->x + columns;

    if (columns < 0) {
        draw_words(ui, pen, text, dim);
        return;
    }
    Pen inner = *pen;
    if (inner.area.w > end)
        inner.area.w = end;
    draw_words(ui, &inner, text, dim);
    pen->x = inner.x < end ? inner.x : end;
    if (inner.x > end && columns > 0) {
        pen->x = end - 1;
        pen_rune(pen, ROLE_TEXT, 0x2026);
    }
    pen_tab(pen, end);
}

void draw_field(Pen *pen, const char *label, int columns)
{
    pen_fit(pen, ROLE_HEAD, str_from(label), columns);
}

void text_wildcard(Str text, Buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        bool digit = text.s[i] >= '0' && text.s[i] <= '9';
        bool inside = i > 0 && ((text.s[i - 1] | 0x20) >= 'a' && (text.s[i - 1] | 0x20) <= 'z');
        if (!digit || inside) {
            buf_putc(out, text.s[i]);
            continue;
        }
        while (i + 1 < text.n && text.s[i + 1] >= '0' && text.s[i + 1] <= '9')
            i++;
        buf_putc(out, '*');
    }
}

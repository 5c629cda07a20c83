#include "core/peers/torch_export/reader.h"

#include "core/peers/torch_export/archive.h"
#include "core/peers/torch_export/nodes.h"
#include "core/peers/torch_export/step.h"
#include "core/peers/torch_export/unread.h"
#include "core/run/element.h"

#include <inttypes.h>

enum { SCHEMA_LEAST = 5, SCHEMA_MOST = 8, EXAMPLES_TRIED = 1 << 16 };

bool torch_export_is(Str text)
{
    enum { HEAD_BYTES = 4096 };
    Str head = {text.s, text.n < HEAD_BYTES ? text.n : HEAD_BYTES};
    return zip_is(text) ||
           (str_starts(str_trim(head), STR("{")) && str_find(head, STR("\"graph_module\"")) >= 0);
}

/* ---- the file ---- */

typedef struct {
    Export e;
    Archive archive;
    int32_t module, graph, signature;
    ExportScope scope;
    int n_nodes, n_absent, n_tied;
    Intern *storages; /* of weights that have bytes, with their strides; the next by id */
    Vec(int32_t) tensor_of_storage;
    bool looked_for_tied; /* the first parameter without bytes asks for them: */
    UnreadNames tied;
} ReadProgram;

static bool check_schema(ReadProgram *p, Error *err)
{
    const JsonView *json = &p->archive.program;
    int32_t version = json_view_get(json, 0, "schema_version");
    int64_t major = -1;
    p->module = json_view_get(json, 0, "graph_module");
    p->graph = json_view_get(json, p->module, "graph");
    p->signature = json_view_get(json, p->module, "signature");
    json_view_int(json, json_view_get(json, version, "major"), &major);
    if (version < 0 || p->graph < 0 || p->signature < 0)
        return json_view_fail(json, 0, err, "it has no schema_version, graph and signature");
    if (major >= SCHEMA_LEAST && major <= SCHEMA_MOST)
        return true;
    Str torch = json_view_str(json, json_view_get(json, 0, "torch_version"), p->e.scratch);
    json_view_fail(json, version, err, "its schema is version %" PRId64 "%s%.*s; read are %d to %d",
                   major, torch.n > 0 ? ", of torch " : "", STR_ARG(torch), SCHEMA_LEAST,
                   SCHEMA_MOST);
    return error_hint(err, "load it with that torch and save it with torch 2.5 to 2.15");
}

static void add_note(ReadProgram *p, Level level, const char *code, const char *text,
                     const char *hint)
{
    Finding note = {.level = level, .code = code, .text = text, .hint = hint};
    note.op = note.tensor = -1;
    vec_push(p->e.arena, p->e.file->notes, note);
}

/* ---- symbols ---- */

/* The sizes of the user's inputs name the symbols: of each the first dim that is nothing else. */
static void name_symbols(ReadProgram *p, Str input, int32_t meta)
{
    Export *e = &p->e;
    const JsonView *json = e->json;
    int d = 0;
    json_view_each (item, json, json_view_get(json, meta, "sizes")) {
        int32_t expr = json_view_get(json, item, "as_expr");
        Str text = json_view_str(json, json_view_get(json, expr, "expr_str"), e->arena);
        Symbol *symbol = expr < 0 ? NULL : symbols_alone(&e->symbols, text);
        if (symbol && strcmp(symbol->name, arena_str(e->scratch, symbol->file_name)) == 0) {
            symbol->name = arena_printf(e->arena, "%.*s.%d", STR_ARG(input), d);
            json_view_int(json, json_view_get(json, json_view_get(json, expr, "hint"), "as_int"),
                          &symbol->example);
        }
        d++;
    }
}

/* A symbol that is only part of an input's size: the example that gives the size of the example. */
static void solve_symbol(Export *e, Symbol *symbol, const char *size, int64_t example)
{
    for (int64_t value = 0; value < EXAMPLES_TRIED && symbol->example < 0; value++) {
        DimBinding binding = {str_from(symbol->name), value};
        DimBindings one = {&binding, 1, 1};
        int32_t id = names_intern(e->graph->names, str_from(size));
        if (dim_size(e->graph, (DeclaredDim){.size = -1, .name = id}, &one) == example)
            symbol->example = value;
    }
}

static void solve_symbols(ReadProgram *p, int32_t meta)
{
    Export *e = &p->e;
    const JsonView *json = e->json;
    json_view_each (item, json, json_view_get(json, meta, "sizes")) {
        int32_t expr = json_view_get(json, item, "as_expr");
        int64_t example;
        Str text = json_view_str(json, json_view_get(json, expr, "expr_str"), e->arena);
        if (expr < 0 || symbols_alone(&e->symbols, text) ||
            !json_view_int(json, json_view_get(json, json_view_get(json, expr, "hint"), "as_int"),
                           &example))
            continue;
        const char *size = symbols_format(&e->symbols, text, NULL);
        for (int i = 0; size && i < e->symbols.list.n; i++)
            if (e->symbols.list.at[i].example < 0)
                solve_symbol(e, &e->symbols.list.at[i], size, example);
    }
}

static void read_ranges(ReadProgram *p)
{
    Export *e = &p->e;
    const JsonView *json = e->json;
    int32_t ranges = json_view_get(json, 0, "range_constraints");
    json_view_each (key, json, ranges) {
        Symbol *symbol = symbols_at(&e->symbols, json_view_raw(json, key));
        json_view_int(json, json_view_get(json, key + 1, "min_val"), &symbol->least);
        json_view_int(json, json_view_get(json, key + 1, "max_val"), &symbol->most);
    }
}

/* Sizes of the example are the defaults; of a symbol that has none there the least. */
static void bind_symbols(ReadProgram *p)
{
    Export *e = &p->e;
    Vec(DimRange) ranges = {0};
    for (int i = 0; i < e->symbols.list.n; i++) {
        const Symbol *symbol = &e->symbols.list.at[i];
        if (symbol->file_name.n == 0 || symbol->file_name.s[0] == 'u')
            continue;
        DimRange range = {names_intern(e->graph->names, str_from(symbol->name)), symbol->least,
                          symbol->most};
        vec_push(e->arena, &ranges, range);
        if (symbol->example >= 0)
            vec_push(e->arena, e->file->dims,
                     ((DimBinding){str_from(symbol->name), symbol->example}));
    }
    e->graph->ranges = ranges.at;
    e->graph->n_ranges = ranges.n;
}

/* ---- inputs ---- */

/* How the signature calls a parameter, a buffer or a constant: its kind and where its name is. */
enum { PARAMETER };
static const struct {
    const char *kind, *name;
} stored[] = {
    [PARAMETER] = {"parameter", "parameter_name"},
    {"buffer", "buffer_name"},
    {"tensor_constant", "tensor_constant_name"},
};

static bool known_shape(ReadProgram *p, Str name, int32_t meta, Dtype *dtype, Shape *shape)
{
    Export *e = &p->e;
    DeclaredDim dims[DIMS_MAX];
    int n;
    *shape = (Shape){0};
    if (meta < 0)
        return export_fail(e, p->signature, "input '%.*s' has no type in the file", STR_ARG(name));
    if (!meta_declare(e, meta, dtype, dims, &n))
        return false;
    shape->n_dims = n;
    for (int d = 0; d < n; d++) {
        shape->dim[d] = dims[d].size;
        if (dims[d].size < 0)
            return export_fail(e, meta, "a dim of '%.*s' is symbolic", STR_ARG(name));
    }
    Error why = {0};
    return shape_check(shape, &why) || export_fail(e, meta, "'%.*s': %s", STR_ARG(name), why.text);
}

/* The tensor of equal bytes that was defined before; -1 if there is none. */
static int32_t tied_to(ReadProgram *p, const ArchiveEntry *entry, Dtype dtype, const Shape *shape,
                       int32_t tensor)
{
    const JsonView *view = &p->archive.config[entry->kind < 0 ? 0 : entry->kind];
    int32_t meta = json_view_get(view, entry->entry, "tensor_meta");
    Buf key = buf_new(p->e.scratch);
    if (entry->kind < 0 || entry->bytes == 0)
        return -1;
    buf_printf(&key, "%d %.*s %d ", entry->kind, STR_ARG(entry->storage), dtype);
    shape_format(shape, &key);
    int64_t number = 0;
    json_view_int(view, json_view_get(view, json_view_get(view, meta, "storage_offset"), "as_int"),
                  &number);
    buf_printf(&key, " %" PRId64, number);
    json_view_each (item, view, json_view_get(view, meta, "strides")) {
        json_view_int(view, json_view_get(view, item, "as_int"), &number);
        buf_printf(&key, " %" PRId64, number);
    }
    int32_t id = intern_put(p->storages, key.s, key.n);
    if (id < p->tensor_of_storage.n)
        return p->tensor_of_storage.at[id];
    vec_push(p->e.scratch, &p->tensor_of_storage, tensor);
    return -1;
}

/* Whether the parameter, without bytes, is another one, which stands for it later. */
static bool is_tied_later(ReadProgram *p, const ArchiveEntry *entry, Str value)
{
    if (entry->bytes > 0)
        return false;
    if (!p->looked_for_tied)
        p->tied = unread_find(&p->e, p->graph, p->signature);
    p->looked_for_tied = true;
    for (int i = 0; i < p->tied.n; i++)
        if (str_eq(p->tied.at[i].unread, value))
            return true;
    return false;
}

/* kind: of `stored`. */
static bool add_stored(ReadProgram *p, Str value, Str name, size_t kind)
{
    Export *e = &p->e;
    Shape shape;
    TensorData data;
    Dtype dtype;
    int32_t meta = export_meta(e, value);
    if (!known_shape(p, name, meta, &dtype, &shape))
        return false;
    Dtype given = meta_dtype(e, meta);
    int rank = meta_rank(e, meta);
    ArchiveEntry entry = archive_find(&p->archive, name);
    if (is_tied_later(p, &entry, value))
        return true;
    bool taken = graph_has_tensor(e->builder, name);
    int32_t tied = taken ? -1 : tied_to(p, &entry, dtype, &shape, e->builder->tensors.n);
    if (tied >= 0) {
        p->n_tied++;
        export_also(e, name, tied);
        export_also(e, value, tied);
        export_define(e, value, term_tensor(tied, given, rank), false);
        return true;
    }
    int32_t tensor = taken ? graph_new_tensor(e->builder, name) : graph_tensor(e->builder, name);
    Shape stored_shape = shape; /* without the dim of a complex number's parts */
    stored_shape.n_dims = rank;
    if (!archive_data(&p->archive, &entry, given, &stored_shape, &data, e->err))
        return false;
    p->n_absent += data.form == DATA_ABSENT;
    graph_add_initializer(e->builder, tensor, dtype, &shape, data);
    graph_mark_training(e->builder, tensor,
                        kind != PARAMETER      ? MARK_BUFFER
                        : meta_trains(e, meta) ? MARK_TRAINS
                                               : MARK_FROZEN);
    export_also(e, value, tensor);
    export_define(e, value, term_tensor(tensor, given, rank), false);
    return true;
}

/* Its value is that of the example: the graph was traced with it. */
static bool add_number(ReadProgram *p, int32_t arg)
{
    Export *e = &p->e;
    const JsonView *json = e->json;
    int32_t symbolic = json_view_get(json, arg, "as_sym_int");
    Str name = json_view_raw(json, json_view_get(json, symbolic, "as_name"));
    int32_t values = json_view_get(json, p->graph, "sym_int_values"), expr = -1;
    int64_t example = 1;
    if (name.n == 0)
        return true;
    json_view_each (key, json, values)
        if (str_eq(json_view_raw(json, key), name))
            expr = json_view_get(json, key + 1, "as_expr");
    json_view_int(json, json_view_get(json, json_view_get(json, expr, "hint"), "as_int"), &example);
    export_define(e, name, term_int(example), true);
    add_note(p, LEVEL_NOTE, "fixed-input",
             arena_printf(e->arena, "input '%.*s' is a number: %" PRId64 ", as in the example",
                          STR_ARG(name), example),
             "");
    return true;
}

/* The gradient of the loss is an input of a joint graph, tangents_1: it is 1. */
static bool is_loss_gradient(const ReadProgram *p, Str name, int32_t meta)
{
    const JsonView *json = p->e.json;
    bool loss = false;
    json_view_each (spec, json, json_view_get(json, p->signature, "output_specs"))
        loss |= json_view_get(json, spec, "loss_output") >= 0;
    return loss && str_starts(name, STR("tangents_")) && meta_rank(&p->e, meta) == 0 &&
           dtype_is_float(meta_dtype(&p->e, meta));
}

static bool add_loss_gradient(ReadProgram *p, Str name, int32_t meta)
{
    Export *e = &p->e;
    Shape scalar = {0};
    Dtype dtype = meta_dtype(e, meta);
    char *bytes = arena_alloc(e->arena, 16);
    double one = 1;
    elements_store(dtype, bytes, 1, NUMBER_F64, &one);
    int32_t tensor = graph_new_tensor(e->builder, name);
    graph_add_initializer(
        e->builder, tensor, dtype, &scalar,
        (TensorData){.form = DATA_RAW, .bytes = {bytes, (size_t)element_bytes(dtype)}});
    export_define(e, name, term_tensor(tensor, dtype, 0), false);
    add_note(p, LEVEL_NOTE, "loss-gradient",
             arena_printf(e->arena, "'%.*s', the gradient of the loss, is 1", STR_ARG(name)), "");
    return true;
}

static bool add_user_input(ReadProgram *p, int32_t arg)
{
    Export *e = &p->e;
    const JsonView *json = e->json;
    DeclaredDim dims[DIMS_MAX];
    Dtype dtype;
    int n;
    Str name =
        json_view_raw(json, json_view_get(json, json_view_get(json, arg, "as_tensor"), "name"));
    if (name.n == 0)
        return add_number(p, arg);
    int32_t meta = export_meta(e, name);
    if (meta < 0)
        return export_fail(e, arg, "input '%.*s' has no type in the file", STR_ARG(name));
    if (is_loss_gradient(p, name, meta))
        return add_loss_gradient(p, name, meta);
    if (!meta_declare(e, meta, &dtype, dims, &n))
        return false;
    bool taken = graph_has_tensor(e->builder, name);
    int32_t tensor = taken ? graph_new_tensor(e->builder, name) : graph_tensor(e->builder, name);
    graph_add_input(e->builder, tensor, dtype, dims, n);
    export_define(e, name, term_tensor(tensor, meta_dtype(e, meta), meta_rank(e, meta)), false);
    return true;
}

/* Values that the caller gives and that are no tensors: None, numbers, texts. */
static void add_constant_input(ReadProgram *p, int32_t spec)
{
    Export *e = &p->e;
    const JsonView *json = e->json;
    Str name = json_view_raw(json, json_view_get(json, spec, "name"));
    int32_t value = json_view_get(json, spec, "value");
    int64_t number;
    double real;
    ExportTerm term = no_term();
    if (json_view_int(json, json_view_get(json, value, "as_int"), &number))
        term = term_int(number);
    else if (json_view_real(json, json_view_get(json, value, "as_float"), &real))
        term = term_number(real);
    else if (json_view_get(json, value, "as_bool") >= 0)
        term = term_int(json_view_bool(json, json_view_get(json, value, "as_bool"), false));
    export_define(e, name, term, true);
}

static bool read_input(ReadProgram *p, int32_t spec, bool users)
{
    const JsonView *json = p->e.json;
    int32_t user = json_view_get(json, spec, "user_input");
    int32_t constant = json_view_get(json, spec, "constant_input");
    if (user >= 0)
        return !users || add_user_input(p, json_view_get(json, user, "arg"));
    if (constant >= 0 && users)
        add_constant_input(p, constant);
    for (size_t i = 0; i < sizeof stored / sizeof *stored && !users; i++) {
        int32_t found = json_view_get(json, spec, stored[i].kind);
        Str value =
            json_view_raw(json, json_view_get(json, json_view_get(json, found, "arg"), "name"));
        if (found >= 0)
            return add_stored(
                p, value,
                json_view_str(json, json_view_get(json, found, stored[i].name), p->e.arena), i);
    }
    return true;
}

/* Gives those of is_tied_later() the tensors that they are. */
static bool add_tied(ReadProgram *p)
{
    Export *e = &p->e;
    for (int i = 0; i < p->tied.n; i++) {
        const UnreadName *tied = &p->tied.at[i];
        ExportValue *read = export_value(e, p->signature, tied->read);
        if (!read)
            return false;
        p->n_tied++;
        export_also(e, tied->name, read->term.tensor);
        export_also(e, tied->unread, read->term.tensor);
        export_define(e, tied->unread, read->term, false);
    }
    return true;
}

static bool read_inputs(ReadProgram *p)
{
    Export *e = &p->e;
    const JsonView *json = e->json;
    int32_t specs = json_view_get(json, p->signature, "input_specs");
    json_view_each (spec, json, specs) {
        int32_t arg = json_view_get(json, json_view_get(json, spec, "user_input"), "arg");
        Str name =
            json_view_raw(json, json_view_get(json, json_view_get(json, arg, "as_tensor"), "name"));
        if (name.n > 0)
            name_symbols(p, name, export_meta(e, name));
    }
    json_view_each (spec, json, specs) {
        int32_t arg = json_view_get(json, json_view_get(json, spec, "user_input"), "arg");
        Str name =
            json_view_raw(json, json_view_get(json, json_view_get(json, arg, "as_tensor"), "name"));
        if (name.n > 0)
            solve_symbols(p, export_meta(e, name));
    }
    read_ranges(p);
    bind_symbols(p);
    for (int users = 0; users < 2; users++) { /* a user's input gives way to a parameter's name */
        json_view_each (spec, json, specs)
            if (!read_input(p, spec, users == 1))
                return false;
        if (users == 0 && !add_tied(p))
            return false;
    }
    return true;
}

/* ---- outputs ---- */

/* Outputs of the user come first; then what the file calls mutations. */
static const struct {
    const char *kind,
        *field; /* of an output that is the new value of something; its name in that */
} mutations[] = {{"buffer_mutation", "buffer_name"},
                 {"parameter_mutation", "parameter_name"},
                 {"user_input_mutation", "user_input_name"}};

/* Whether the output is one of them; *name: of what. */
static bool is_mutation(const JsonView *json, int32_t spec, Str *name)
{
    for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i++) {
        int32_t of = json_view_get(json, spec, mutations[i].kind);
        if (of < 0)
            continue;
        *name = json_view_raw(json, json_view_get(json, of, mutations[i].field));
        return true;
    }
    return false;
}

/* What the program changes, as running means and caches are: by its outputs, or in place. */
static void add_changed_note(ReadProgram *p)
{
    const JsonView *json = p->e.json;
    json_view_each (spec, json, json_view_get(json, p->signature, "output_specs")) {
        Str name;
        if (is_mutation(json, spec, &name) && name.n > 0)
            vec_push(p->e.scratch, &p->e.changed, name);
    }
    int n = p->e.changed.n;
    if (n == 0)
        return;
    Buf text = buf_new(p->e.arena);
    buf_printf(&text, "'%.*s'", STR_ARG(p->e.changed.at[0]));
    if (n > 1)
        buf_printf(&text, " (and %d more)", n - 1);
    add_note(p, LEVEL_NOTE, "changed-in-place",
             arena_printf(p->e.arena,
                          "%s is changed in place: the next step of a run reads the "
                          "old value again",
                          text.s),
             "");
}

/* A tensor of the graph that no output has yet and that an op makes: else a copy of it. */
static int32_t output_tensor(Export *e, ExportTerm t, Str name)
{
    const GraphTensor *tensor = &e->builder->tensors.at[t.tensor];
    if (tensor->kind == TENSOR_MADE && !tensor->output)
        return t.tensor;
    const char *copy = arena_printf(e->scratch, "%.*s/output", STR_ARG(name));
    int32_t out = graph_new_tensor(e->builder, str_from(copy));
    graph_add_op(e->builder, STR("Identity"), str_from(copy), STR(""), &t.tensor, 1, &out, 1, 0);
    graph_declare(e->builder, out, (Dtype)t.dtype, NULL, -1);
    return out;
}

static bool read_outputs(ReadProgram *p, bool of_mutations)
{
    Export *e = &p->e;
    const JsonView *json = e->json;
    int32_t specs = json_view_get(json, p->signature, "output_specs");
    int32_t spec = json_view_first(json, specs);
    json_view_each (item, json, json_view_get(json, p->graph, "outputs")) {
        bool mutation = spec >= 0 && is_mutation(json, spec, &(Str){0});
        if (spec >= 0)
            spec = json_view_next(json, specs, spec);
        int32_t at = json_view_get(json, json_view_get(json, item, "as_tensor"), "name");
        Str name = json_view_raw(json, at);
        if (mutation != of_mutations || name.n == 0)
            continue;
        ExportValue *value = export_value(e, at, name);
        if (!value)
            return false;
        ExportTerm t = inplace_current(e, value);
        if (t.kind == TERM_TENSOR)
            graph_add_output(e->builder, output_tensor(e, t, name));
    }
    return !export_failed(e);
}

/* ---- the whole ---- */

static void note_weights(ReadProgram *p)
{
    Arena *arena = p->e.arena;
    if (p->archive.pickled)
        add_note(p, LEVEL_NOTE, "pickled-weights",
                 "weights of an archive of torch before 2.8 are pickled: they are not read",
                 "save it again with a later torch, or give --weights FILE.safetensors");
    else if (p->n_absent > 0)
        add_note(p, LEVEL_NOTE, "no-weights",
                 arena_printf(arena, "%d parameter%s and buffers have no elements in the file",
                              p->n_absent, p->n_absent == 1 ? "" : "s"),
                 "run takes them from --weights FILE, or draws them");
    if (p->n_tied > 0)
        add_note(p, LEVEL_NOTE, "tied-weights",
                 arena_printf(arena, "%d name%s of another parameter: one tensor has both",
                              p->n_tied, p->n_tied == 1 ? " is that" : "s are those"),
                 "");
}

static void add_other_names(Export *e)
{
    GraphName *names = arena_array(e->arena, GraphName, e->other_names.n / 2 + 1);
    for (int i = 0; i < e->other_names.n; i += 2)
        names[i / 2] = (GraphName){e->other_names.at[i], e->other_names.at[i + 1]};
    e->graph->also = names;
    e->graph->n_also = e->other_names.n / 2;
}

static void begin(ReadProgram *p, const ModelFile *file, Arena *scratch, Error *err)
{
    GraphBuilder *builder = graph_builder_new(file->arena, file->path);
    *p = (ReadProgram){.n_absent = 0};
    p->e = (Export){.arena = file->arena, .scratch = scratch, .file = file, .builder = builder};
    p->e.graph = graph_builder_graph(builder);
    p->e.symbols = symbols_new(file->arena);
    p->e.constant_keys = intern_new(scratch);
    p->e.row_keys = intern_new(scratch);
    p->storages = intern_new(scratch);
    p->e.err = err;
}

static bool read_program(ReadProgram *p, const ModelFile *file, Error *err)
{
    Export *e = &p->e;
    progress_stage(file->progress, "reading", (int64_t)file->text.n);
    if (!archive_open(file, e->scratch, &p->archive, err) || !check_schema(p, err))
        return false;
    e->json = &p->archive.program;
    int n_nodes = p->n_nodes = json_view_size(e->json, json_view_get(e->json, p->graph, "nodes"));
    graph_reserve(e->builder, 2 * n_nodes, 3 * n_nodes, 6 * n_nodes, 6 * n_nodes);
    export_enter(e, &p->scope, p->graph, STR(""));
    if (!read_inputs(p) || !nodes_read(e) || !read_outputs(p, false) || !read_outputs(p, true))
        return false;
    note_weights(p);
    add_changed_note(p);
    add_other_names(e);
    return true;
}

Graph *torch_export_read(const ModelFile *file, Error *err)
{
    Arena *scratch = arena_new();
    ReadProgram *p = arena_make(scratch, ReadProgram);
    begin(p, file, scratch, err);
    Graph *graph = NULL;
    Error why = {0};
    if (read_program(p, file, err)) {
        graph = graph_seal(p->e.builder, &why);
        if (!graph) {
            error_kind(err, ERROR_UNREADABLE, "%s", why.text);
            error_hint(err, "%s", why.hint);
        }
    }
    if (graph) {
        graph->n_nodes = p->n_nodes;
        graph->hash = graph_hash_of_file(file->text);
        torch_step_find(&p->e, p->signature, graph);
    } else {
        error_in_file(err, file->path);
    }
    arena_free(scratch);
    return graph;
}

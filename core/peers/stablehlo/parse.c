/* parse.c - regions, ops and functions of MLIR text, in the pretty and in the generic form. */
#include "core/peers/stablehlo/parse.h"

enum { PACK_MAX = 1 << 20 };

/* ---- regions ---- */

static void read_op(MlirScan *scan);

/* The arguments of a reducer are written in pairs; the block has all left ones first. */
static void order_reducer_args(MlirScan *scan)
{
    int n = scan->stacks.args.n / 2;
    if (n < 2)
        return;
    MlirValue *first = &scan->tree->values.at[scan->stacks.args.at[0]];
    MlirValue *sorted = arena_array(scan->scratch, MlirValue, 2 * n);
    for (int i = 0; i < n; i++) {
        sorted[i] = first[2 * i];
        sorted[n + i] = first[2 * i + 1];
    }
    memcpy(first, sorted, (size_t)(2 * n) * sizeof *first);
}

/* The arguments that `while` names among its operands, once for each of its regions. */
static void add_named_args(MlirScan *scan, const MlirReading *reading)
{
    int n = 0;
    for (int i = reading->result; i < scan->stacks.results.n; i++) {
        MlirValue named = scan->stacks.results.at[i];
        if (named.op >= 0)
            continue;
        bool typed = reading->type + n < scan->stacks.types.n;
        named.type = typed ? scan->stacks.types.at[reading->type + n] : -1;
        named.op = -1;
        PUSH(scan, args, mlir_push_value(scan, named));
        n++;
    }
}

/* "^bb0(%arg0: T, ..):" */
static void read_block_head(MlirScan *scan)
{
    scan->at++;
    mlir_read_word(scan);
    bool list = mlir_accept(scan, '(');
    while (list && !scan->failed && !mlir_accept(scan, ')')) {
        if (mlir_peek(scan) != '%') {
            mlir_fail(scan, scan->at, "an argument or ')' is expected here");
            return;
        }
        Str name = mlir_read_name(scan);
        if (mlir_expect(scan, ':'))
            mlir_read_argument(scan, name);
        mlir_accept(scan, ',');
    }
    mlir_expect(scan, ':');
}

/* Reads "{ .. }" whose arguments are on the stack, or follow as those of its block. */
static int32_t read_body(MlirScan *scan)
{
    MlirTree *tree = scan->tree;
    const char *from = scan->at;
    int n_shadows = scan->shadows.n, n_args;
    if (!mlir_expect(scan, '{'))
        return -1;
    if (++scan->depth > MLIR_DEPTH_MAX)
        mlir_fail(scan, from, "regions are nested more than %d deep", MLIR_DEPTH_MAX);
    if (mlir_peek(scan) == '^')
        read_block_head(scan);
    n_args = scan->stacks.args.n;
    MlirRegion region = {n_args ? scan->stacks.args.at[0] : 0, n_args, tree->ops.n, tree->ops.n};
    int32_t id = tree->regions.n;
    vec_push_own(tree->arena, &tree->regions, region);
    for (int i = 0; i < n_args; i++)
        mlir_define(scan, tree->values.at[region.arg + i].name, region.arg + i);
    scan->stacks.args.n = 0;
    while (!scan->failed && !mlir_accept(scan, '}')) {
        if (mlir_peek(scan) == '^')
            mlir_fail(scan, scan->at, "a region with several blocks is not read");
        else if (scan->at == scan->end)
            mlir_fail(scan, from, "this region is not closed");
        else
            read_op(scan);
    }
    mlir_forget(scan, n_shadows);
    scan->depth--;
    tree->regions.at[id].end = tree->ops.n;
    return id;
}

void mlir_read_region(MlirScan *scan, const MlirReading *reading)
{
    mlir_blanks(scan);
    add_named_args(scan, reading);
    if (reading->is_reducer)
        order_reducer_args(scan);
    int32_t id = read_body(scan);
    if (id >= 0)
        PUSH(scan, regions, id);
}

/* ---- ops ---- */

/* "%0, %1:2 = " */
static void read_results(MlirScan *scan, const MlirReading *reading)
{
    while (!scan->failed && mlir_peek(scan) == '%') {
        const char *from = scan->at;
        Str name = mlir_read_name(scan);
        bool pack = scan->at < scan->end && *scan->at == ':';
        scan->at += pack;
        int64_t n = pack ? mlir_read_number(scan) : 1;
        if (!scan->failed && (n < 1 || n > PACK_MAX))
            mlir_fail(scan, from, "an op cannot have %lld results", (long long)n);
        for (int32_t i = 0; i < n && !scan->failed; i++)
            PUSH(scan, results, (MlirValue){name, -1, reading->id, pack ? i : -1, -1});
        mlir_accept(scan, ',');
    }
    mlir_expect(scan, '=');
}

static void push_op(MlirScan *scan, MlirOp op, Str name)
{
    MlirTree *tree = scan->tree;
    op.kind = intern_put(tree->kinds, name.s, name.n);
    op.name = (Str){intern_key(tree->kinds, op.kind, NULL), name.n};
    vec_push_own(tree->arena, &tree->ops, op);
}

/* The type of one element: "tensor<f32>" of "tensor<8x16xf32>". at: who asks for it. */
static int32_t element_type(MlirScan *scan, int32_t of, const char *at)
{
    Error why = {0};
    Str text = of < 0 ? STR("") : scan->tree->types.at[of].text;
    if (!str_starts(text, STR("tensor<")))
        return of;
    Str element = {text.s + 7, text.n - 8};
    while (element.n > 0 && (is_digit(element.s[0]) || element.s[0] == '?'))
        str_take(&element, 'x');
    MlirScan inner = *scan;
    inner.at = arena_printf(scan->tree->arena, "tensor<%.*s>", STR_ARG(element));
    inner.end = inner.at + strlen(inner.at); /* a NUL in the type ends the text */
    inner.err = &why;
    int32_t type = mlir_read_type(&inner);
    if (inner.failed)
        mlir_fail(scan, at, "%s", why.text);
    return type;
}

/* The region that "applies stablehlo.add" stands for. */
static void add_reducer(MlirScan *scan, const MlirReading *reading, Str name, const char *at)
{
    MlirTree *tree = scan->tree;
    int32_t of = reading->made < scan->stacks.made.n ? scan->stacks.made.at[reading->made] : -1;
    int32_t type = element_type(scan, of, at), first = tree->ops.n;
    for (int i = 0; i < 2; i++) {
        vec_push_own(tree->arena, &tree->operands, tree->values.n);
        mlir_push_value(scan, (MlirValue){STR(""), type, -1, -1, -1});
    }
    MlirRegion region = {tree->values.n - 2, 2, first, first + 2};
    MlirOp op = {.at = at, .operand = tree->operands.n - 2, .n_operands = 2};
    op.result = mlir_push_value(scan, (MlirValue){STR(""), type, first, -1, -1});
    op.n_results = 1;
    op.end = first + 1;
    push_op(scan, op, name);
    vec_push_own(tree->arena, &tree->operands, op.result);
    push_op(scan,
            (MlirOp){.at = at, .operand = tree->operands.n - 1, .n_operands = 1, .end = first + 2},
            STR("stablehlo.return"));
    PUSH(scan, regions, tree->regions.n);
    vec_push_own(tree->arena, &tree->regions, region);
}

/* The type of result i of n: behind the arrow; else one for each, one for all, or the last. */
static int32_t result_type(const MlirScan *scan, const MlirReading *reading, int i, int n)
{
    int n_types = scan->stacks.types.n - reading->type;
    if (reading->has_arrow)
        return scan->stacks.made.at[reading->made + i];
    if (n_types == 0)
        return -1;
    const int32_t *types = scan->stacks.types.at + reading->type;
    return n_types == n ? types[i] : types[n_types - 1];
}

static void add_results(MlirScan *scan, const MlirReading *reading)
{
    MlirOp *op = &scan->tree->ops.at[reading->id];
    int n = 0, n_made = scan->stacks.made.n - reading->made;
    for (int i = reading->result; i < scan->stacks.results.n; i++)
        n += scan->stacks.results.at[i].op >= 0;
    if (reading->has_arrow && n_made != n && n > 0) {
        mlir_fail(scan, op->at, "this op has %d results and the types of %d", n, n_made);
        return;
    }
    op->result = scan->tree->values.n;
    op->n_results = n;
    for (int i = reading->result, k = 0; i < scan->stacks.results.n; i++) {
        MlirValue value = scan->stacks.results.at[i];
        if (value.op < 0)
            continue;
        value.type = result_type(scan, reading, k++, n);
        int32_t id = mlir_push_value(scan, value);
        if (value.pack <= 0)
            mlir_define(scan, value.name, id);
    }
}

#define TAKE(scan, stack, from, out)                                                               \
    do {                                                                                           \
        for (int i_ = (from); i_ < (scan)->stacks.stack.n; i_++)                                   \
            vec_push_own((scan)->tree->arena, &(scan)->tree->out, (scan)->stacks.stack.at[i_]);    \
        (scan)->stacks.stack.n = (from);                                                           \
    } while (0)

/* Moves the op's parts from the stacks to the tree. */
static void end_op(MlirScan *scan, const MlirReading *reading)
{
    MlirTree *tree = scan->tree;
    const MlirStacks *stacks = &scan->stacks;
    const char *at = tree->ops.at[reading->id].at;
    for (int i = reading->attr; i < stacks->attrs.n && stacks->regions.n == reading->region; i++)
        if (str_eq(stacks->attrs.at[i].key, STR("applies")))
            add_reducer(scan, reading, stacks->attrs.at[i].value, at);
    add_results(scan, reading);
    MlirOp *op = &tree->ops.at[reading->id];
    op->operand = tree->operands.n;
    op->attr = tree->attrs.n;
    op->region = tree->op_regions.n;
    op->n_regions = stacks->regions.n - reading->region;
    op->n_attrs = stacks->attrs.n - reading->attr;
    TAKE(scan, operands, reading->operand, operands);
    TAKE(scan, initial, reading->initial, operands);
    TAKE(scan, attrs, reading->attr, attrs);
    TAKE(scan, regions, reading->region, op_regions);
    op->n_operands = tree->operands.n - op->operand;
    op->end = tree->ops.n;
    op->location = mlir_read_location(scan);
    scan->stacks.results.n = reading->result;
    scan->stacks.types.n = reading->type;
    scan->stacks.made.n = reading->made;
}

static MlirReading begin_op(const MlirScan *scan)
{
    const MlirStacks *stacks = &scan->stacks;
    return (MlirReading){.id = scan->tree->ops.n,
                         .attr = stacks->attrs.n,
                         .result = stacks->results.n,
                         .operand = stacks->operands.n,
                         .initial = stacks->initial.n,
                         .region = stacks->regions.n,
                         .type = stacks->types.n,
                         .made = stacks->made.n};
}

/* `call` and `return` are of the dialect func; `module` is builtin.module. */
static Str whole_name(Str name)
{
    static const char *const rows[][2] = {
        {"call", "func.call"}, {"return", "func.return"}, {"module", "builtin.module"}};
    bool dotted = memchr(name.s, '.', name.n) != NULL;
    for (size_t i = 0; !dotted && i < sizeof rows / sizeof *rows; i++)
        if (str_eq(name, str_from(rows[i][0])))
            return str_from(rows[i][1]);
    return name;
}

/* ---- functions ---- */

static MlirInfo take_info(MlirScan *scan, int from)
{
    MlirInfo info = {.attr = scan->tree->attrs.n, .n_attrs = scan->stacks.attrs.n - from};
    TAKE(scan, attrs, from, attrs);
    info.location = mlir_read_location(scan);
    return info;
}

/* "%arg0: T {..} loc(..)", or "T {..}" of one that is only declared. */
static void read_parameter(MlirScan *scan)
{
    Str name = STR("");
    int from = scan->stacks.attrs.n;
    if (mlir_peek(scan) == '%') {
        name = mlir_read_name(scan);
        mlir_expect(scan, ':');
    }
    int32_t type = mlir_read_type(scan);
    if (mlir_accept(scan, '{'))
        mlir_read_attrs(scan);
    if (scan->failed)
        return;
    vec_push_own(scan->tree->arena, &scan->tree->infos, take_info(scan, from));
    PUSH(scan, args,
         mlir_push_value(scan, (MlirValue){name, type, -1, -1, scan->tree->infos.n - 1}));
}

/* "T"; in a list "T {..}". */
static void read_returned(MlirScan *scan, bool listed)
{
    int from = scan->stacks.attrs.n;
    mlir_read_type(scan);
    if (listed && mlir_accept(scan, '{'))
        mlir_read_attrs(scan);
    vec_push_own(scan->tree->arena, &scan->tree->infos, take_info(scan, from));
}

static void add_function(MlirScan *scan, MlirFunction function)
{
    intern_put(scan->tree->function_keys, function.name.s, function.name.n);
    if (intern_count(scan->tree->function_keys) == scan->tree->functions.n)
        mlir_fail(scan, function.name.s, "there are two functions '@%.*s'", STR_ARG(function.name));
    else
        vec_push(scan->tree->arena, &scan->tree->functions, function);
}

/* Behind "func.func": "public @f(..) -> (..) attributes {..} { .. }" */
static void read_function(MlirScan *scan, MlirReading *reading)
{
    MlirTree *tree = scan->tree;
    MlirFunction function = {.op = reading->id, .region = -1, .is_public = true};
    Str word = mlir_read_word(scan);
    function.is_public = !str_eq(word, STR("private")) && !str_eq(word, STR("nested"));
    function.name = mlir_read_symbol(scan);
    if (function.name.n == 0)
        mlir_fail(scan, scan->at, "the name of a function is expected here");
    mlir_expect(scan, '(');
    while (!scan->failed && !mlir_accept(scan, ')')) {
        read_parameter(scan);
        mlir_accept(scan, ',');
    }
    function.result = tree->infos.n;
    bool arrow = mlir_accept_arrow(scan), list = arrow && mlir_accept(scan, '(');
    while (arrow && !scan->failed && !(list && mlir_accept(scan, ')'))) {
        read_returned(scan, list);
        if (!list)
            break;
        mlir_accept(scan, ',');
    }
    function.n_results = tree->infos.n - function.result;
    if (mlir_accept_word(scan, "attributes") && mlir_expect(scan, '{'))
        mlir_read_attrs(scan);
    if (mlir_peek(scan) == '{') {
        function.region = read_body(scan);
        if (function.region >= 0)
            PUSH(scan, regions, function.region);
    }
    scan->stacks.args.n = 0;
    if (!scan->failed)
        add_function(scan, function);
}

/* The attributes of each argument, or result, of a function in the generic form. */
static int32_t add_infos(MlirScan *scan, const MlirOp *op, const char *attr)
{
    MlirTree *tree = scan->tree;
    const MlirAttr *found = mlir_attr(tree, op, attr);
    Str rest = found ? mlir_inside(found->value) : STR(""), item;
    int32_t first = tree->infos.n;
    while (mlir_take_item(&rest, &item)) {
        MlirScan inner = *scan;
        Str inside = mlir_inside(item);
        int from = scan->stacks.attrs.n;
        inner.at = inside.s;
        inner.end = inside.s + inside.n + 1; /* with the bracket */
        if (item.n > 1)
            mlir_read_attrs(&inner);
        inner.at = inner.end;
        scan->stacks = inner.stacks;
        vec_push_own(tree->arena, &tree->infos,
                     (MlirInfo){.attr = tree->attrs.n, .n_attrs = scan->stacks.attrs.n - from});
        TAKE(scan, attrs, from, attrs);
    }
    return first;
}

/* "func.func"() <{sym_name = "main", ..}> ({..}), after it was read as an op. */
static void note_function(MlirScan *scan, int32_t id)
{
    MlirTree *tree = scan->tree;
    MlirOp op = tree->ops.at[id];
    const MlirAttr *name = mlir_attr(tree, &op, "sym_name"),
                   *seen = mlir_attr(tree, &op, "sym_visibility");
    if (!name || scan->failed)
        return;
    MlirFunction function = {.name = mlir_text(tree->arena, name->value),
                             .op = id,
                             .region = op.n_regions ? tree->op_regions.at[op.region] : -1,
                             .is_public = !seen || str_eq(seen->value, STR("\"public\""))};
    int32_t first = add_infos(scan, &op, "arg_attrs");
    function.result = tree->infos.n;
    add_infos(scan, &op, "res_attrs");
    function.n_results = tree->infos.n - function.result;
    if (function.region >= 0) {
        MlirRegion region = tree->regions.at[function.region];
        for (int i = 0; i < region.n_args && first + i < function.result; i++)
            tree->values.at[region.arg + i].info = first + i;
    }
    add_function(scan, function);
}

static void read_op(MlirScan *scan)
{
    MlirReading reading = begin_op(scan);
    mlir_report(scan, scan->at);
    if (mlir_peek(scan) == '%')
        read_results(scan, &reading);
    const char *at = scan->failed ? scan->end : (mlir_blanks(scan), scan->at);
    bool generic = at < scan->end && *at == '"';
    Str name = generic ? mlir_inside(mlir_skip_group(scan)) : mlir_read_word(scan);
    if (name.n == 0)
        mlir_fail(scan, at, "the name of an op is expected here");
    if (scan->failed)
        return;
    push_op(scan, (MlirOp){.at = at}, generic ? name : whole_name(name));
    if (generic)
        mlir_read_generic(scan, &reading);
    else if (str_eq(name, STR("func.func")))
        read_function(scan, &reading);
    else
        mlir_read_pretty(scan, &reading);
    if (scan->failed && !mlir_dialect_is_known(whole_name(name)))
        error_hint(scan->err,
                   "'%.*s' is of the dialect '%.*s', whose forms are not read: lower it to "
                   "StableHLO, or print the generic form",
                   STR_ARG(name), STR_ARG(mlir_dialect(name)));
    if (scan->failed)
        return;
    end_op(scan, &reading);
    if (generic && str_eq(name, STR("func.func")))
        note_function(scan, reading.id);
}

/* ---- the file ---- */

/* "#loc1 = loc(..)" */
static void read_alias(MlirScan *scan)
{
    const char *from = scan->at++;
    Str word = mlir_read_word(scan);
    Str name = {from, (size_t)(word.s + word.n - from)};
    mlir_expect(scan, '=');
    mlir_blanks(scan);
    from = scan->at;
    while (scan->at < scan->end && *scan->at != '\n')
        if (memchr("([{<\"", *scan->at, 5))
            mlir_skip_group(scan);
        else
            scan->at++;
    if (scan->failed)
        return;
    Str body = str_trim((Str){from, (size_t)(scan->at - from)});
    intern_put(scan->tree->alias_keys, name.s, name.n);
    if (intern_count(scan->tree->alias_keys) > scan->tree->aliases.n)
        vec_push(scan->tree->arena, &scan->tree->aliases, (MlirAlias){name, body});
}

/* "{-# dialect_resources: .. #-}" at the end of a file. */
static bool skip_resources(MlirScan *scan)
{
    if (scan->end - scan->at < 3 || memcmp(scan->at, "{-#", 3) != 0)
        return false;
    scan->at = scan->end;
    return true;
}

static void read_file(MlirScan *scan)
{
    while (!scan->failed && mlir_peek(scan) != '\0') {
        char c = *scan->at;
        if (c == '#')
            read_alias(scan);
        else if (c == '}' || c == ')' || c == '>')
            mlir_fail(scan, scan->at, "this bracket closes nothing");
        else if (!skip_resources(scan))
            read_op(scan);
    }
    if (!scan->failed && scan->at < scan->end)
        mlir_fail(scan, scan->at, "a NUL is no part of MLIR text");
}

#define ROOM(arena, vec, n)                                                                        \
    do {                                                                                           \
        (vec)->room = (n);                                                                         \
        (vec)->at = arena_alloc((arena), (size_t)(n) * sizeof *(vec)->at);                         \
    } while (0)

/* Most lines are an op with one result and about two operands. What is not written on is not taken
 * from the system; lines that are too short for an op have no room. A file that is larger has long
 * constants, which are not read for this, or columns that grow. */
static void make_room(MlirScan *scan)
{
    enum { OP_BYTES = 40, COUNTED_BYTES = 1 << 24 };
    MlirTree *tree = scan->tree;
    size_t counted = tree->source.text.n < COUNTED_BYTES ? tree->source.text.n : COUNTED_BYTES;
    int n = 0, most = (int)(counted / OP_BYTES);
    for (const char *at = scan->at, *end = at + counted; n < most && at < end; n++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : end;
    }
    ROOM(tree->arena, &tree->ops, n);
    ROOM(tree->arena, &tree->values, n);
    ROOM(tree->arena, &tree->attrs, n);
    ROOM(tree->arena, &tree->operands, 2 * n);
    ROOM(scan->scratch, &scan->numbered, n);
    ROOM(scan->scratch, &scan->shadows, n);
}

MlirTree *mlir_parse(Arena *arena, const Source *source, Progress *progress, Error *err)
{
    MlirTree *tree = arena_make(arena, MlirTree);
    tree->arena = arena;
    tree->source = *source;
    tree->kinds = intern_new(arena);
    tree->type_keys = intern_new(arena);
    tree->alias_keys = intern_new(arena);
    tree->function_keys = intern_new(arena);
    MlirScan scan = {.tree = tree,
                     .at = source->text.s,
                     .end = source->text.s + source->text.n,
                     .reported = source->text.s,
                     .err = err,
                     .progress = progress,
                     .last_type = -1,
                     .scratch = arena_new()};
    scan.names = intern_new(scan.scratch);
    make_room(&scan);
    read_file(&scan);
    arena_free(scan.scratch);
    return scan.failed ? NULL : tree;
}

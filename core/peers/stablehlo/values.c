/* values.c - the verb mlir.values: every value of a module as its text defines it.
 *
 *     {"file": "model.mlir"} or {"text": ".."} -> {"values": [[FUNCTION, DEPTH, NAME, OP, TYPE],
 * ..]}
 *
 * The values of a region that the pretty form leaves out ("applies stablehlo.add") get the names
 * that MLIR's printer would give them: numbers go on behind those of the ops around the region.
 */
#include "core/peers/stablehlo/eval.h"

#include "core/base/file.h"
#include "core/peers/stablehlo/tree.h"

typedef struct {
    const MlirTree *tree;
    Arena *arena;
    Str function;
    Json *out;
} ValueListing;

/* Numbers that unnamed values of a region begin with. */
typedef struct {
    int64_t arg, value;
} Numbering;

static void count_name(Str name, Numbering *next)
{
    int64_t number;
    bool arg = str_starts(name, STR("%arg"));
    Str digits = {name.s + (arg ? 4 : 1), name.n - (arg ? 4 : 1)};
    if (name.n < 2 || !is_digit(digits.s[0]) || !str_to_int(digits, &number))
        return;
    int64_t *counter = arg ? &next->arg : &next->value;
    *counter = number >= *counter ? number + 1 : *counter;
}

static Numbering numbers_behind(const ValueListing *listing, const MlirRegion *region,
                                Numbering outer)
{
    const MlirTree *tree = listing->tree;
    for (int i = 0; i < region->n_args; i++)
        count_name(tree->values.at[region->arg + i].name, &outer);
    for (int32_t o = region->op; o < region->end; o = tree->ops.at[o].end)
        for (int i = 0; i < tree->ops.at[o].n_results; i++)
            count_name(tree->values.at[tree->ops.at[o].result + i].name, &outer);
    return outer;
}

static void list_value(ValueListing *listing, int depth, int32_t value, Str op, int64_t number)
{
    const MlirValue *v = &listing->tree->values.at[value];
    const MlirType *type = mlir_type_of(listing->tree, value);
    bool arg = v->op < 0;
    Buf name = buf_new(listing->arena);
    if (v->name.n > 0)
        buf_add(&name, v->name);
    else
        buf_printf(&name, "%%%s%lld", arg ? "arg" : "", (long long)number);
    if (v->pack >= 0)
        buf_printf(&name, "#%d", v->pack);
    Json *row = json_array();
    json_add(row, json_from_str(listing->function));
    json_add(row, json_from_int(depth));
    json_add(row, json_from_str(buf_str(&name)));
    json_add(row, json_from_str(op));
    json_add(row, json_from_str(type ? type->text : STR("")));
    json_add(listing->out, row);
}

static void list_region(ValueListing *listing, const MlirRegion *region, int depth, Numbering outer)
{
    const MlirTree *tree = listing->tree;
    Numbering own = outer, next = numbers_behind(listing, region, outer);
    for (int i = 0; i < region->n_args; i++)
        list_value(listing, depth, region->arg + i, STR("arg"), own.arg + i);
    for (int32_t o = region->op; o < region->end; o = tree->ops.at[o].end) {
        const MlirOp *op = &tree->ops.at[o];
        for (int i = 0; i < op->n_results; i++)
            list_value(listing, depth, op->result + i, op->name, own.value);
        for (int i = 0; i < op->n_regions; i++)
            list_region(listing, mlir_region(tree, op, i), depth + 1, next);
    }
}

static bool read_source(Arena *arena, const Json *request, FileMap *map, Source *out, Error *err)
{
    const Json *file = json_get(request, "file"), *text = json_get(request, "text");
    *out = (Source){"request", json_str(text, "")};
    if (!file)
        return text || error_set(err, "it needs a 'file' or a 'text'");
    out->name = arena_str(arena, json_str(file, ""));
    if (!file_map(out->name, map, err))
        return false;
    out->text = map->text;
    return true;
}

bool eval_mlir_values(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    FileMap map = {.map = NULL};
    Source source;
    if (!read_source(arena, request, &map, &source, err))
        return false;
    MlirTree *tree = mlir_parse(arena, &source, NULL, err);
    ValueListing listing = {tree, arena, STR(""), tree ? json_array() : NULL};
    for (int f = 0; tree && f < tree->functions.n; f++) {
        listing.function = tree->functions.at[f].name;
        if (tree->functions.at[f].region >= 0)
            list_region(&listing, &tree->regions.at[tree->functions.at[f].region], 0,
                        (Numbering){0, 0});
    }
    if (tree)
        json_set(answer, "values", listing.out);
    if (map.map)
        file_unmap(&map);
    return tree != NULL;
}

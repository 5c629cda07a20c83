#include "core/peers/tapestry/ipf.h"

#include <inttypes.h>

typedef struct {
    Scope *scope;
    const IpfTensor *tensor;
    const PhraseNode *node; /* of the map; NULL: the default map */
    Projection *out;
} Build;

static bool fail_rank(Build *build, const char *what, int64_t has, int64_t wants)
{
    const Phrase *phrase = build->node ? build->node->phrase : build->tensor->phrase;
    return phrase_fail(phrase, build->node ? build->node->at : 0, E_RANK, build->scope->err,
                       "%" PRId64 " %s, where there are %" PRId64, has, what, wants);
}

/* ---- D maps ---- */

/* Counts the tensor dims and index dims that the elements use, without the repeat. */
static void count_used(const Elements *elements, int64_t *dims, int64_t *indices)
{
    *dims = *indices = 0;
    for (int i = 0; i < elements->n; i++) {
        if (elements->at[i].repeat)
            continue;
        *dims += elements->at[i].mark != NODE_UNUSED;
        *indices += elements->at[i].mark != NODE_FIXED;
    }
}

/* How often the repeat is written out, so that all of its dims are used. */
static int64_t repeat_count(const Build *build, const Elements *elements)
{
    int64_t dims, indices;
    count_used(elements, &dims, &indices);
    for (int i = 0; i < elements->n; i++)
        if (elements->at[i].repeat)
            return elements->at[i].mark == NODE_UNUSED ? build->scope->index->n_main - indices
                                                       : build->tensor->rank - dims;
    return 0;
}

/* Writes out the repeat; a bare `...` repeats 1. */
static bool write_out(Build *build, const Elements *from, Elements *out)
{
    int64_t n = repeat_count(build, from);
    *out = (Elements){0};
    for (int i = 0; i < from->n; i++) {
        Element element = from->at[i];
        if (element.mark == NODE_REST) {
            element.mark = NODE_INT;
            element.value = datum_int(1);
        }
        if (element.mark == NODE_INT && element.value.kind != DATUM_INT)
            return node_fail(build->scope, element.node, E_TYPE, "a coefficient must be a number");
        int64_t times = element.repeat ? n : 1;
        element.repeat = false;
        if (times > 0 && !scope_work(build->scope, element.node, times))
            return false;
        for (; times > 0; times--)
            vec_push(build->scope->arena, out, element);
    }
    return true;
}

/* The shorthand of the language's draft: one number per tensor dim; where there are fewer index
 * dims than tensor dims, each zero stands for `_`. */
static void read_zeros(const Build *build, Elements *elements)
{
    int64_t surplus = build->tensor->rank - build->scope->index->n_main, zeros = 0;
    for (int i = 0; i < elements->n; i++) {
        if (elements->at[i].mark != NODE_INT)
            return;
        zeros += elements->at[i].value.number == 0;
    }
    if (elements->n != build->tensor->rank || surplus <= 0 || zeros != surplus)
        return;
    for (int i = 0; i < elements->n; i++)
        if (elements->at[i].value.number == 0)
            elements->at[i].mark = NODE_FIXED;
}

static bool build_diagonal(Build *build, const Elements *written)
{
    Elements elements;
    int64_t dims, indices;
    int d = 0, j = 0, n_main = build->scope->index->n_main;
    if (!write_out(build, written, &elements))
        return false;
    read_zeros(build, &elements);
    count_used(&elements, &dims, &indices);
    if (dims != build->tensor->rank)
        return fail_rank(build, "entries for tensor dims", dims, build->tensor->rank);
    if (indices != n_main) {
        bool sliced = build->node && node_has(build->node, NODE_SLICE, (Str){0});
        fail_rank(build, "entries for index dims", indices, n_main);
        error_hint(build->scope->err,
                   sliced
                       ? "a slice ends before its end: the dims before $axis are [:$axis]"
                       : "'_' stands for a tensor dim without an index dim, '~' for the reverse");
        return false;
    }
    for (int i = 0; i < elements.n; i++) {
        const Element *element = &elements.at[i];
        if (element->mark != NODE_UNUSED)
            build->out->row[d] = (Row){.window = 1};
        if (element->mark == NODE_INT)
            build->out->row[d].coef[j] = element->value.number;
        d += element->mark != NODE_UNUSED;
        j += element->mark != NODE_FIXED;
    }
    return true;
}

/* ---- R maps ---- */

static bool whole_row(Build *build, const PhraseNode *node, int d)
{
    if (!build->tensor->shape)
        return node_fail(build->scope, node, E_CONTEXT,
                         "':' can be used only where the tensor's shape is known");
    row_whole(&build->out->row[d], build->tensor->shape->dim[d]);
    return true;
}

static bool start_row(Build *build, const Element *element, int d)
{
    Row *row = &build->out->row[d];
    if (element->value.kind == DATUM_COORD)
        *row = *element->value.row;
    else if (element->value.kind == DATUM_INT)
        *row = (Row){.offset = element->value.number};
    else
        return node_fail(build->scope, element->node, E_TYPE,
                         "a start must be a number or an expression over coordinates");
    row->window = 1;
    if (!element->has_window)
        return true;
    if (element->window.kind != DATUM_INT)
        return node_fail(build->scope, element->node, E_TYPE, "a window must be a number");
    row->window = element->window.number;
    return true;
}

static bool position_row(Build *build, const PhraseNode *node, int d)
{
    if (d >= build->scope->index->n_main)
        return node_fail(build->scope, node, E_COORD, "there is no index dim %d", d);
    row_unit(&build->out->row[d], d);
    return true;
}

static bool build_coordinates(Build *build, const Elements *elements)
{
    int d = 0, rank = build->tensor->rank;
    for (int i = 0; i < elements->n; i++) {
        const Element *element = &elements->at[i];
        int times = element->repeat ? rank - (elements->n - 1) : 1;
        if (element->mark == NODE_FIXED || element->mark == NODE_UNUSED)
            return node_fail(build->scope, element->node, E_CONTEXT,
                             "this element is only allowed in D maps");
        for (; times > 0; times--, d++) {
            if (d >= rank)
                return fail_rank(build, "entries for tensor dims", elements->n, rank);
            if (element->mark == NODE_WHOLE  ? !whole_row(build, element->node, d)
                : element->mark == NODE_REST ? !position_row(build, element->node, d)
                                             : !start_row(build, element, d))
                return false;
        }
    }
    return d == rank || fail_rank(build, "entries for tensor dims", d, rank);
}

/* ---- offsets and windows ---- */

/* One number per tensor dim. */
static bool read_numbers(Build *build, const PhraseNode *list, int64_t rest, int64_t *out)
{
    Datum numbers;
    int rank = build->tensor->rank;
    int64_t before = build->scope->rest;
    build->scope->rest = rest;
    bool ok = list->kind == NODE_LIST ? evaluate_list(build->scope, list, rank, &rest, &numbers)
                                      : evaluate(build->scope, list, &numbers);
    build->scope->rest = before;
    if (!ok)
        return false;
    if (numbers.kind != DATUM_LIST)
        return node_fail(build->scope, list, E_TYPE, "expected a list");
    if (numbers.n != rank)
        return node_fail(build->scope, list, E_RANK, "%d numbers for %d dims", numbers.n, rank);
    for (int d = 0; d < rank; d++) {
        out[d] = numbers.item[d].number;
        if (numbers.item[d].kind != DATUM_INT)
            return node_fail(build->scope, list, E_TYPE, "entry %d is not a number", d);
    }
    return true;
}

static bool add_offset(Build *build, const PhraseNode *list)
{
    int64_t offset[DIMS_MAX] = {0};
    if (!read_numbers(build, list, 0, offset))
        return false;
    for (int d = 0; d < build->tensor->rank; d++)
        if (__builtin_add_overflow(build->out->row[d].offset, offset[d],
                                   &build->out->row[d].offset))
            return node_fail(build->scope, list, E_OVERFLOW, "offset %d does not fit 64 bits", d);
    return true;
}

static bool set_window(Build *build, const PhraseNode *list)
{
    int64_t window[DIMS_MAX] = {0};
    if (!read_numbers(build, list, 1, window))
        return false;
    for (int d = 0; d < build->tensor->rank; d++)
        build->out->row[d].window = window[d];
    return true;
}

static bool check_windows(Build *build)
{
    const Phrase *phrase = build->node ? build->node->phrase : build->tensor->phrase;
    for (int d = 0; d < build->tensor->rank; d++)
        if (build->out->row[d].window < 0)
            return phrase_fail(phrase, build->node ? build->node->at : 0, E_SHAPE,
                               build->scope->err, "the window of dim %d is %" PRId64, d,
                               build->out->row[d].window);
    return true;
}

/* ---- whole ipfs ---- */

static bool build_map(Build *build, const Phrase *map)
{
    const PhraseNode all = {.kind = NODE_REST, .phrase = build->tensor->phrase};
    Elements elements = {0};
    if (!map) {
        vec_push(build->scope->arena, &elements,
                 (Element){.mark = NODE_REST, .repeat = true, .node = &all});
        return build_diagonal(build, &elements);
    }
    const PhraseNode *ipf = map->root;
    build->node = ipf;
    if (!evaluate_elements(build->scope, ipf->arg[0], &elements))
        return false;
    if (ipf->op == 'D' ? !build_diagonal(build, &elements) : !build_coordinates(build, &elements))
        return false;
    return (!ipf->arg[1] || add_offset(build, ipf->arg[1])) &&
           (!ipf->arg[2] || set_window(build, ipf->arg[2])) && check_windows(build);
}

/* insertRow: a row of the given coefficients, offset and window. */
static bool build_row(Scope *scope, const PhraseNode *text, Row *row)
{
    Datum coefficients;
    const int64_t zero = 0;
    int n_main = scope->index->n_main;
    *row = (Row){0};
    if (!evaluate_list(scope, text->arg[0], n_main, &zero, &coefficients) ||
        !evaluate_int(scope, text->arg[1], &row->offset) ||
        !evaluate_int(scope, text->arg[2], &row->window))
        return false;
    if (coefficients.n != n_main)
        return node_fail(scope, text, E_RANK, "%d coefficients for %d index dims", coefficients.n,
                         n_main);
    for (int j = 0; j < n_main; j++) {
        row->coef[j] = coefficients.item[j].number;
        if (coefficients.item[j].kind != DATUM_INT)
            return node_fail(scope, text, E_TYPE, "a coefficient must be a number");
    }
    return row->window >= 0 || node_fail(scope, text, E_SHAPE, "a window of %" PRId64, row->window);
}

static bool build_inserted(Scope *scope, const Ipf *ipf, const IpfTensor *tensor, Projection *out)
{
    int64_t at, rank = scope->rank;
    Row row;
    scope->rank = tensor->rank;
    bool ok = evaluate_int(scope, ipf->at->root, &at) && build_row(scope, ipf->row->root, &row);
    scope->rank = rank;
    if (!ok)
        return false;
    if (at < 0 || at >= tensor->rank)
        return node_fail(scope, ipf->at->root, E_SLICE, "there is no dim %" PRId64 " of %d", at,
                         tensor->rank);
    Shape without = {.n_dims = tensor->rank - 1};
    for (int d = 0; tensor->shape && d < without.n_dims; d++)
        without.dim[d] = tensor->shape->dim[d < at ? d : d + 1];
    Ipf source = {.map = ipf->source};
    IpfTensor rest = {tensor->phrase, tensor->rank - 1, tensor->shape ? &without : NULL};
    if (!ipf_build(scope, &source, &rest, out))
        return false;
    memmove(&out->row[at + 1], &out->row[at], (size_t)(rest.rank - at) * sizeof row);
    out->row[at] = row;
    out->n_dims = (uint8_t)tensor->rank;
    return true;
}

bool ipf_build(Scope *scope, const Ipf *ipf, const IpfTensor *tensor, Projection *out)
{
    if (ipf->row)
        return build_inserted(scope, ipf, tensor, out);
    Build build = {.scope = scope, .tensor = tensor, .out = out};
    int64_t rank = scope->rank;
    scope->rank = tensor->rank;
    *out = (Projection){.n_dims = (uint8_t)tensor->rank};
    bool ok = build_map(&build, ipf->map) &&
              (!ipf->offset || add_offset(&build, ipf->offset->root)) &&
              (!ipf->window || set_window(&build, ipf->window->root)) && check_windows(&build);
    scope->rank = rank;
    return ok;
}

bool ipf_is_small(const Projection *projection, const int64_t *extent, int n_index)
{
    const int64_t most = INT64_C(1) << 60;
    for (int d = 0; d < projection->n_dims; d++) {
        const Row *row = &projection->row[d];
        int64_t reach = 0;
        if (row->offset < -most || row->offset > most || row->window > most)
            return false;
        for (int j = 0; j < n_index; j++) {
            int64_t term;
            if (row->coef[j] < -most || row->coef[j] > most ||
                __builtin_mul_overflow(row->coef[j], extent[j] > 0 ? extent[j] : 1, &term) ||
                term < -most || term > most)
                return false;
            reach += term < 0 ? -term : term;
            if (reach > most)
                return false;
        }
    }
    return true;
}

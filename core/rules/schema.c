#include "core/rules/schema.h"

#include <limits.h>
#include <stdio.h>

/* ---- types of operands ---- */

static const struct {
    char letter;
    const char *name;
} classes[] = {{'f', "floats"},
               {'i', "whole numbers"},
               {'b', "bool"},
               {'s', "strings"},
               {'c', "complex numbers"}};

static char class_of(Dtype dtype)
{
    if (dtype_is_float(dtype))
        return 'f';
    if (dtype_is_int(dtype))
        return 'i';
    return dtype == DT_BOOL ? 'b' : dtype == DT_STR ? 's' : 'c';
}

static bool wrong_class(int input, Dtype dtype, Str allowed, Error *err)
{
    char text[80] = "";
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
        if (memchr(allowed.s, classes[c].letter, allowed.n)) {
            size_t n = strlen(text);
            snprintf(text + n, sizeof text - n, "%s%s", n > 0 ? " or " : "", classes[c].name);
        }
    return error_kind(err, ERROR_DTYPE, "its input %d is %s, and must be of %s", input,
                      dtype_name(dtype), text);
}

bool schema_check_types(const RuleCall *call, const Operator *row, Error *err)
{
    const AttrReads *reads = call->reads;
    if (reads && reads->mistyped)
        return error_kind(err, ERROR_DTYPE, "its attribute '%s' is not %s", reads->mistyped,
                          reads->wanted);
    const char *word = row->types && !call->alias ? row->types : "";
    int first_of[26];
    memset(first_of, -1, sizeof first_of);
    for (int i = 0; i < call->n_inputs && *word; i++) {
        size_t n = strcspn(word, " ");
        bool repeats = word[n - 1] == '+';
        Str allowed = {word + 1, n - 1 - repeats};
        Dtype dtype = call->dtype[i];
        if (call->shape[i] && dtype != DT_NONE) {
            if (allowed.n > 0 && !memchr(allowed.s, class_of(dtype), allowed.n))
                return wrong_class(i, dtype, allowed, err);
            int *first = *word == '.' ? NULL : &first_of[*word - 'A'];
            if (first && *first >= 0 && call->dtype[*first] != dtype)
                return error_kind(err, ERROR_DTYPE,
                                  "its inputs %d and %d are %s and %s, and must be of one type",
                                  *first, i, dtype_name(call->dtype[*first]), dtype_name(dtype));
            if (first && *first < 0)
                *first = i;
        }
        if (!repeats)
            word += n + (word[n] == ' ');
    }
    return true;
}

/* ---- attributes that no rule reads ---- */

/* Checks whether an attribute is among the names allowed here and, if not, finds the nearest one.
 * Distances are computed only then, since most attributes are known. */
typedef struct {
    Str given, nearest;
    int distance; /* INT_MAX: none is near yet */
    bool measure, known;
} NameSearch;

static void offer(NameSearch *search, Str name)
{
    search->known |= str_eq(search->given, name);
    int distance = search->measure ? str_distance(search->given, name) : INT_MAX;
    if (distance < search->distance) {
        search->distance = distance;
        search->nearest = name;
    }
}

static void offer_words(NameSearch *search, Str words)
{
    while (words.n > 0)
        offer(search, str_take(&words, ' '));
}

/* Adds the name that the op may use for the attribute that the rule calls `ours`. */
static void offer_read(NameSearch *search, const Alias *alias, const char *ours)
{
    bool renamed = false;
    for (int i = 0; alias && i < alias->n_attrs; i++)
        if (strcmp(alias->attr[i].ours, ours) == 0) {
            offer(search, str_from(alias->attr[i].theirs));
            renamed = true;
        }
    if (!renamed)
        offer(search, str_from(ours));
}

static void offer_all(NameSearch *search, const RuleCall *call, const char *listed)
{
    const Alias *alias = call->alias;
    offer_words(search, str_from(listed));
    for (int r = 0; r < call->reads->n; r++)
        offer_read(search, alias, call->reads->name[r]);
    for (int a = 0; alias && a < alias->n_attrs; a++)
        offer(search, str_from(alias->attr[a].theirs));
}

bool schema_find_unknown(const RuleCall *call, const Operator *row, Str *given, Str *meant)
{
    const Graph *graph = call->graph;
    const AttrList *attrs = &graph->attr_lists[graph->ops[call->op].attrs];
    const char *listed = attrs->n == 0 || call->alias ? NULL : row->attrs;
    for (int i = 0; i < attrs->n; i++) {
        NameSearch search = {.given = names_str(graph->names, attrs->at[i].name),
                             .distance = INT_MAX};
        Str lengths = STR(".lengths"); /* of the lists of a list, which has a name (one_op.c) */
        if (str_ends(search.given, lengths))
            search.given.n -= lengths.n;
        offer_all(&search, call, listed);
        if (search.known)
            continue;
        search.measure = true;
        offer_all(&search, call, listed);
        bool near = search.distance <= 1 + (int)search.given.n / 4;
        if (!listed && !near)
            continue;
        *given = search.given;
        *meant = near ? search.nearest : STR("");
        return true;
    }
    return false;
}

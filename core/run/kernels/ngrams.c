/* ngrams.c - TfIdfVectorizer of integers: counts the n-grams of a pool in each row.
 *
 * The pool lists all 1-grams, then 2-grams, ..; ngram_counts gives where each length begins,
 * ngram_indexes the column of each n-gram. Items of an n-gram are adjacent or have 1 to
 * max_skip_count items between each two; a 1-gram is counted once. A column is the count (TF), the
 * weight if present (IDF), or their product. Rows are unsharded.
 */
#include "core/rules/args.h"
#include "core/run/kernel.h"

#include <inttypes.h>

typedef struct {
    Ints pool, begin, column; /* begin: in the pool, by length - 1 */
    int least, most;          /* lengths */
    int64_t skips;
    const Attr *weights; /* NULL: all 1 */
    bool counts, weighs; /* TF and TFIDF; IDF and TFIDF */
} Ngrams;

static bool read_pool(const KernelCall *call, const RuleCall *rule, Ngrams *out, Error *err)
{
    if (args_attr(rule, "pool_strings"))
        return error_kind(err, ERROR_RUN, "n-grams of texts are not counted");
    if (!args_ints(rule, -1, "pool_int64s", &out->pool, err) ||
        !args_ints(rule, -1, "ngram_counts", &out->begin, err) ||
        !args_ints(rule, -1, "ngram_indexes", &out->column, err))
        return false;
    int64_t n_columns = call->output[0]->whole.dim[call->output[0]->whole.n_dims - 1];
    int64_t last = 0, n_ngrams = 0;
    for (int i = 0; i < out->begin.n; i++) {
        int64_t end = i + 1 < out->begin.n ? out->begin.at[i + 1] : out->pool.n;
        if (out->begin.at[i] < last || end < out->begin.at[i] || end > out->pool.n ||
            (end - out->begin.at[i]) % (i + 1) != 0)
            return error_kind(err, ERROR_RUN, "ngram_counts do not fit the pool");
        last = out->begin.at[i];
        n_ngrams += (end - last) / (i + 1);
    }
    if (n_ngrams != out->column.n)
        return error_kind(err, ERROR_RUN, "the pool has %" PRId64 " n-grams, ngram_indexes %d",
                          n_ngrams, out->column.n);
    for (int i = 0; i < out->column.n; i++)
        if (out->column.at[i] < 0 || out->column.at[i] >= n_columns)
            return error_kind(err, ERROR_RUN, "a column of ngram_indexes is not in the output");
    return true;
}

static bool read_ngrams(const KernelCall *call, Ngrams *out, Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    Str mode = args_text(&rule, "mode", "TF");
    int64_t least = args_int(&rule, "min_gram_length", 1);
    int64_t most = args_int(&rule, "max_gram_length", 1);
    *out = (Ngrams){.counts = !str_eq(mode, STR("IDF")), .weighs = !str_eq(mode, STR("TF"))};
    if (!read_pool(call, &rule, out, err))
        return false;
    if (least < 1 || most < least || most > out->begin.n)
        return error_kind(err, ERROR_RUN, "the pool has no n-grams of those lengths");
    out->least = (int)least;
    out->most = (int)most;
    out->skips = clamp(args_int(&rule, "max_skip_count", 0), 0, INT32_MAX);
    out->weights = args_attr(&rule, "weights");
    if (out->weights && (out->weights->type != ATTR_FLOATS || out->weights->n != out->column.n))
        return error_kind(err, ERROR_RUN, "it needs one weight per n-gram");
    return true;
}

/* The place among all n-grams of the n items from `at` on, `step` apart; -1: not in the pool. */
static int64_t find_ngram(const Ngrams *ngrams, const int64_t *at, int64_t step, int n)
{
    int64_t place = 0;
    for (int i = 0; i < n; i++) {
        int64_t begin = ngrams->begin.at[i];
        int64_t end = i + 1 < ngrams->begin.n ? ngrams->begin.at[i + 1] : ngrams->pool.n;
        for (int64_t p = begin; i == n - 1 && p < end; p += n) {
            int same = 0;
            while (same < n && ngrams->pool.at[p + same] == at[same * step])
                same++;
            if (same == n)
                return place + (p - begin) / n;
        }
        place += (end - begin) / (i + 1);
    }
    return -1;
}

/* count[i]: occurrences of n-gram i in the row. */
static void count_row(const Ngrams *ngrams, const int64_t *row, int64_t n, double *count)
{
    for (int length = ngrams->least; length <= ngrams->most; length++)
        for (int64_t step = 1; step <= (length == 1 ? 1 : ngrams->skips + 1); step++) {
            if (step * (length - 1) >= n)
                break;
            for (int64_t at = 0; at + step * (length - 1) < n; at++) {
                int64_t found = find_ngram(ngrams, row + at, step, length);
                if (found >= 0)
                    count[found]++;
            }
        }
}

static double column_of(const Ngrams *ngrams, int i, double count)
{
    double weight = ngrams->weighs && ngrams->weights ? ngrams->weights->floats[i] : 1;
    return weight * (ngrams->counts ? count : count > 0);
}

static bool weigh_ngrams(const KernelCall *call, Error *err)
{
    Ngrams ngrams;
    if (!kernel_numeric(call, 1, err) || !read_ngrams(call, &ngrams, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    int64_t last = in->shape.n_dims - 1, n = last < 0 ? 1 : in->shape.dim[last];
    int64_t n_columns = out->shape.dim[out->shape.n_dims - 1];
    int64_t n_rows = last > 0 ? in->shape.dim[0] : 1;
    if (last > 1 || (last >= 0 && n != in->whole.dim[last]) ||
        shape_elements(&out->shape) != n_rows * n_columns)
        return error_kind(err, ERROR_RUN, "input and output shapes do not match");
    int64_t *row = arena_array(call->scratch, int64_t, n);
    double *count = arena_array(call->scratch, double, ngrams.column.n);
    double *columns = arena_array(call->scratch, double, n_columns);
    for (int64_t r = 0; r < n_rows; r++) {
        local_load(in, r * n, 1, n, NUMBER_I64, row);
        memset(count, 0, (size_t)ngrams.column.n * sizeof *count);
        memset(columns, 0, (size_t)n_columns * sizeof *columns);
        count_row(&ngrams, row, n, count);
        for (int i = 0; i < ngrams.column.n; i++)
            columns[ngrams.column.at[i]] += column_of(&ngrams, i, count[i]);
        local_store(out, r * n_columns, n_columns, NUMBER_F64, columns);
    }
    return true;
}

const Kernel kernels_ngrams[] = {
    {"TfIdfVectorizer", weigh_ngrams, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};

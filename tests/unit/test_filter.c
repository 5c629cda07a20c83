/* Filters on the sample GPT-2 under megatron.lua, dp=2,tp=4: how many ops, or what is wrong. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "tui/state/filter.h"

typedef struct {
    const char *name, *text;
    int n;             /* ops that pass */
    const char *wrong; /* in the error or its hint; NULL: none */
} FilterRow;

static FilterRow rows[] = {
    {"nothing asked", "", 486, NULL},
    {"an operator", "op:Gemm", 48, NULL},
    {"matmul is a family", "op:matmul", 73, NULL},
    {"a word is an operator too", "MatMul", 73, NULL},
    {"capitals are meant", "op:gemm", 48, NULL},
    {"capitals are meant, and differ", "op:GEMM", 0, NULL},
    {"a word is a name too", "c_proj", 72, NULL},
    {"a path", "name:h.11", 39, NULL},
    {"both hold", "name:c_proj op:Gemm", 24, NULL},
    {"not", "!name:h.11", 447, NULL},
    {"or", "op:Gemm|LayerNormalization", 73, NULL},
    {"not one of them", "!op:Gemm|LayerNormalization", 413, NULL},
    {"one dim of the output", "shape:50257", 1, NULL},
    {"all dims of it", "shape:8,1024,50257", 1, NULL},
    {"another rank", "shape:1024,50257", 0, NULL},
    {"partial over an axis", "partial:tp op:Gemm", 24, NULL},
    {"partial over another", "partial:dp", 0, NULL},
    {"partial over any", "partial:any op:Gemm", 24, NULL},
    {"cut by an axis", "axis:tp op:Gemm", 48, NULL},
    {"a kind of reshard", "kind:AR", 24, NULL},
    {"kinds, case-blind", "kind:ar|sl", 25, NULL},
    {"resharded at all", "is:reshard", 25, NULL},
    {"pinned", "is:pinned op:Gemm", 48, NULL},
    {"uneven", "is:uneven", 0, NULL},
    {"tagged", "is:tagged", 2, NULL},
    {"changed by nothing", "is:changed", 0, NULL},
    {"longer than", "ms>5", 1, NULL},
    {"as many as not", "!ms>5", 485, NULL},
    {"at most", "us<=0", 150, NULL},
    {"larger than", "mib>100", 1, NULL},
    {"reshards of that long", "comm>0.08", 24, NULL},
    {"a type", "dtype:f32 op:Gemm", 48, NULL},
    {"blanks do not matter", "   op:Reshape    kind:AR ", 24, NULL},
    {"a key that is none", "opp:x", 0, "did you mean 'op'?"},
    {"an axis that is none", "axis:pp", 0, "dp"},
    {"a kind that is none", "kind:AQ", 0, "no kind of step 'AQ'"},
    {"a state that is none", "is:pined", 0, "did you mean 'pinned'?"},
    {"a type that is none", "dtype:f33", 0, "no dtype 'f33'"},
    {"a number that is none", "ms>fast", 0, "needs a number"},
    {"a number that is missing", "ms>", 0, "needs a number"},
    {"a key of numbers", "ms:1", 0, "takes > or <"},
    {"a key of words", "op>1", 0, "takes a ':'"},
    {"a size that is none", "shape:4x", 0, "not a list of sizes"},
    {"a key alone", "op:", 0, "needs a value"},
    {"too many", "op:a|b|c|d|e|f|g|h|i", 0, "at most 8"},
};

static Session *session;
static Comm *comm;
static uint8_t *tagged;

static const ChangedOps unchanged;

static void passes(void **state)
{
    const FilterRow *row = *state;
    FilterSource source = {session, comm, tagged, &unchanged};
    Error err = {0};
    Filter *filter = filter_new(&source, str_from(row->text), &err);
    if (row->wrong) {
        assert_null(filter);
        if (!strstr(err.text, row->wrong) && !strstr(err.hint, row->wrong))
            fail_msg("%s (%s)", err.text, err.hint);
        return;
    }
    assert_non_null(filter);
    int n = 0;
    for (int i = 0; i < session->inferred->n_program; i++)
        n += filter_op(filter, session->inferred->program[i]);
    assert_int_equal(n, row->n);
    /* What was found is kept; it is the same when asked again. */
    for (int i = 0; i < session->inferred->n_program; i++)
        n -= filter_op(filter, session->inferred->program[i]);
    assert_int_equal(n, 0);
    filter_free(filter);
}

/* ---- reshards and inputs ---- */

typedef struct {
    const char *name, *text;
    int n_reshards, n_inputs;
} OtherRow;

static OtherRow other_rows[] = {
    {"all", "", 25, 2},
    {"a kind", "kind:AR", 24, 0},
    {"an axis", "axis:tp", 24, 0},
    {"by its op", "name:h.3", 2, 0},
    {"an input", "ids", 0, 1},
    {"inputs", "op:input", 0, 2},
    {"by bytes", "mib>1", 24, 0},
};

static void passes_others(void **state)
{
    const OtherRow *row = *state;
    FilterSource source = {session, comm, tagged, &unchanged};
    Filter *filter = filter_new(&source, str_from(row->text), &(Error){0});
    assert_non_null(filter);
    int n_reshards = 0, n_inputs = 0;
    for (int32_t r = 0; r < session->plan->moved->n_reshards; r++)
        n_reshards += filter_reshard(filter, r);
    for (int i = 0; i < session->graph->n_inputs; i++)
        n_inputs += filter_input(filter, session->graph->inputs[i]);
    assert_int_equal(n_reshards, row->n_reshards);
    assert_int_equal(n_inputs, row->n_inputs);
    filter_free(filter);
}

/* ---- completing ---- */

typedef struct {
    const char *name, *typed, *want, *choices;
} TabRow;

static TabRow tab_rows[] = {
    {"a key", "ki", "kind:", ""},
    {"a key of numbers", "mi", "mib>", ""},
    {"several keys", "m", "m", "ms mib"},
    {"after a term", "norm par", "norm partial:", ""},
    {"after not", "!ax", "!axis:", ""},
    {"axes", "axis:", "axis:", "dp tp any"},
    {"one axis", "axis:t", "axis:tp", ""},
    {"a second one", "kind:AR|A2", "kind:AR|A2A", ""},
    {"an operator", "op:Gem", "op:Gemm", ""},
    {"a state", "is:u", "is:uneven", ""},
    {"nothing fits", "zz", "zz", ""},
    {"nothing fits a key", "axis:zz", "axis:zz", ""},
};

static void completes(void **state)
{
    const TabRow *row = *state;
    FilterSource source = {session, comm, tagged, &unchanged};
    Arena *arena = arena_new();
    Buf out = buf_new(arena), choices = buf_new(arena);
    filter_complete(&source, str_from(row->typed), &out, &choices);
    assert_string_equal(out.s, row->want);
    assert_int_equal(choices.n, strlen(row->choices));
    assert_true(str_eq(buf_str(&choices), str_from(row->choices)));
    arena_free(arena);
}

int main(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = "samples/models/gpt2.onnx",
                              .mesh = "dp=2,tp=4",
                              .policy = "tests/policies/megatron.lua"};
    session = session_open(&options, &hooks, &(Error){0});
    assert_non_null(session);
    comm = comm_new(session);
    tagged = arena_array(arena, uint8_t, session->graph->n_ops);
    tagged[session->inferred->program[3]] = tagged[session->inferred->program[9]] = 1;
    int failed = run_rows("ops", rows, passes) + run_rows("others", other_rows, passes_others) +
                 run_rows("completion", tab_rows, completes);
    comm_free(comm);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
    return failed;
}

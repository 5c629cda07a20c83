/* run.h - executes a plan and compares it with one device.
 *
 * program_lower() turns the plan into one instruction list for all ranks, which a runner (runner.h)
 * executes: threads of the host, processes under mpirun, GPUs. With verify each op and each step is
 * checked on the values that the ranks hold (verify.h), so that the first wrong one can be named,
 * and the unsharded graph runs beside them (reference.h) to show the drift of the outputs. Missing
 * weights and inputs are drawn (draw.h): floats uniform in [-1,1), scaled down for weights, tokens
 * as made-up text, other integers and bool 0.
 */
#ifndef CORE_RUN_RUN_H
#define CORE_RUN_RUN_H

#include "core/run/trace/trace.h"

typedef struct {
    bool verify;
    bool deterministic; /* reductions in rank order and the reference matmul: runs are bitwise equal
                         */
    uint64_t seed;
    int warmup;          /* warm-up passes; a verifying pass is one */
    int repeat;          /* at least 1; median over them */
    int steps;           /* training steps, each a pass that starts with the results of the last
                            one; 0: the passes are warmup and repeat */
    double rtol, atol;   /* 0: depends on the element type */
    const char *inputs;  /* folder with input_*.pb, or NULL */
    const char *weights; /* a checkpoint: safetensors.h; or NULL */
    bool draw_missing;   /* weights that are not in the checkpoint are drawn, not an error */
    bool trace;          /* fill RunReport.trace */
    const char *backend; /* "host", "mpi", "cuda", "auto"; NULL: host */
    const struct Runner *runner; /* used instead of the backend's; NULL: none */
    bool isolated;       /* in a child process: a crash or hang ends only the run (supervise.h) */
    double stall_s;      /* isolated: longest time without progress; 0: 3 s */
    struct World *world; /* processes of the run; NULL: this one */
    bool (*progress)(void *context, int done, int total); /* false cancels; may be NULL */
    void *context;
} RunOptions;

typedef struct {
    int32_t tensor;
    double max_abs, max_rel;
    int64_t max_ulp;
    uint64_t bits; /* checksum of its elements on all ranks: equal for equal bits */
    bool ok;       /* within the tolerance of the given output; with verify: no earlier value was
                      wrong */
} RunOutput;

/* An element of a value on a rank. */
typedef struct {
    int32_t tensor;
    bool moved; /* by a reshard or a load, not by the op that makes the tensor */
    int64_t rank;
    Shape at;                /* its index in the whole; n_dims -1: type or shape differ */
    double got, want, bound; /* bound: the largest difference that rounding explains */
    uint8_t rounding;        /* Rounding: where the bound comes from */
} RunElement;

/* A training step. */
typedef struct {
    bool has_loss;
    double loss, one_device; /* one_device: of the unsharded step; with verify */
    double drift;            /* largest difference from one device of what the step leaves, relative
                              * to the largest element of the tensor; with verify */
    int32_t drifts;          /* the tensor with it; -1: all are equal */
    double scale;            /* the loss scale after the step if it is dynamic; else 0 */
    bool skipped;            /* its gradients were not finite, so only the scale changed */
    double us;
} RunStep;

/* A block of a training step: medians over passes and the ranks of its stage. */
typedef struct {
    ProgramBlock of; /* with its predicted time */
    double us;       /* its ops and collectives, without waiting */
    double wait_us;  /* sends, and waiting for other ranks */
} RunBlock;

/* The verdict of a run. NOT_PROVEN: no difference was found, but not every value could be compared,
 * or an output has no finite element. NOT_CHECKED: there was nothing to compare with. ORDER
 * RUN_VERDICT
 */
typedef enum { RUN_NOT_CHECKED, RUN_PASS, RUN_FAIL, RUN_NOT_PROVEN } RunVerdict;

typedef struct {
    int n_ranks;
    int n_passes;        /* finished passes: fewer than asked for after a stop */
    int n_timed;         /* timed ones of them; a warm-up pass when no other was finished */
    const char *backend; /* name of the runner */
    bool elsewhere;      /* this is not process 0, which has the report: everything but `ok` is
                            zero */
    int n_outputs;       /* 0 when nothing was compared */
    RunOutput *outputs;  /* compared with the given ones; else their drift from one device
                            (verify) */
    int32_t first_bad;   /* tensor: first wrong value in program order; -1 */
    RunElement wrong;    /* when first_bad >= 0 */
    int32_t
        overflowed; /* tensor: the first gradient that left the range of f16 on a rank but not on
                       one device, or the other way: a step that a dynamic loss scale skips; -1 */
    RunElement overflow; /* when overflowed >= 0 */
    double closest;      /* largest ratio of a difference to its bound among right elements */
    RunElement close;    /* when closest > 0 */
    double median_us, predicted_us;
    double begin_us;                          /* median time to enqueue a pass on a device */
    int64_t peak_bytes, predicted_peak_bytes; /* of the rank with the highest peak */
    bool predicted_peak_at_least;             /* plus a value whose size only the run knows */
    int64_t *rank_peak_bytes;                 /* per rank: peak bytes of its slots */
    double *op_us;                    /* per op of the graph: median over ranks and repeats */
    double *reshard_us;               /* per reshard of the plan, with waiting for other ranks */
    double *reshard_move_us;          /* the same without the waiting */
    double *op_times, *reshard_times; /* how often a pass runs each, counting loops once: in a
                                         training step once for each micro-batch, or once */
    int n_blocks;                     /* of a training step; 0: a forward pass */
    RunBlock *blocks;
    int n_drawn;            /* weights that the model lacks */
    int32_t strange;        /* an output with elements that are not finite; -1 none */
    int64_t n_strange;      /* how many elements, on one rank */
    int32_t unproven;       /* an output of which no element is finite; -1 */
    int n_values_checked;   /* values compared, each on every rank */
    int n_values_unchecked; /* values that could not be compared: partial with several reductions */
    int n_copied_ops;       /* ops without a device kernel, run by the host on copies */
    int n_copied_operators;
    const char **copied_operator; /* their operators, each once */
    const char *instead;          /* why "auto" used the host instead of a device; NULL */
    const Trace *trace;           /* NULL: not asked for, or stopped between passes */
    int n_steps;                  /* of training; 0: a forward pass */
    RunStep *steps;
    RunVerdict verdict;
    bool ok; /* PASS or NOT_CHECKED */
} RunReport;

enum { RUN_RANKS_MAX = 256, RUN_STALL_S = 3 };

static inline int run_passes(const RunOptions *options)
{
    return options->steps > 0 ? options->steps
                              : options->warmup + (options->repeat > 1 ? options->repeat : 1);
}

/* The report is allocated in the arena. ERROR_USAGE: more ranks than RUN_RANKS_MAX, too little
 * memory, a kernel is missing (names the op), the backend is not available; ERROR_RUN: a rank
 * failed; ERROR_CANCELLED: progress stopped the run before one pass was finished; finished passes
 * are reported otherwise. */
bool run_plan(Arena *arena, const Plan *plan, const RunOptions *options, RunReport *out,
              Error *err);

/* As run_plan(). expected: per tensor, what the output has to be, or NULL: it is compared with one
 * device, if RunOptions.verify asks for it. */
bool run_expecting(Arena *arena, const Plan *plan, const RunOptions *options, Local **expected,
                   RunReport *out, Error *err);

/* Runs one ONNX test folder: DIR holds test_data_set_N/{input,output}_*.pb, and model.onnx, or
 * NAME.onnx beside NAME.io. Compares with output_*.pb by rtol 1e-3, atol 1e-7, as ONNX's own
 * runner, but with an atol of at least 1e-5 of the largest element, since f32 sums differ by order.
 * The plan is that of the model, on any mesh. Where an op draws numbers only types and shapes of
 * output_*.pb count, and values are compared with one device. */
bool run_onnx_test(Arena *arena, const Plan *plan, const char *data_set, const RunOptions *options,
                   RunReport *out, Error *err);

#endif

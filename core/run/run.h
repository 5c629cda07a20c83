/* run.h - executes a plan and compares it with one device.
 *
 * lower (program.h) turns the plan into one instruction list for every rank, which a runner
 * (runner.h) does: the host's threads, processes under mpirun, GPUs. With verify the same inputs go
 * through the unsharded graph beside it (verify.h), and every value on every rank is compared with
 * its part of that, so that the first op that differs can be named. Weights that are absent, and
 * inputs nobody gave, are drawn: uniform floats in [-1,1) scaled down for weights, zeros for
 * integers and bool; the draw is a counter-based function of (seed, tensor name, global element
 * index), so any plan draws the same numbers.
 */
#ifndef CORE_RUN_RUN_H
#define CORE_RUN_RUN_H

#include "core/run/trace/trace.h"

typedef struct {
    bool verify;
    bool deterministic; /* reductions in rank order with the reference matmul, so runs are bitwise
                           equal */
    uint64_t seed;
    int warmup;        /* passes before those that are timed; a pass that verifies is one of them */
    int repeat;        /* at least 1; median over them */
    double rtol, atol; /* 0: by element type */
    const char *inputs;  /* folder with input_*.pb, or NULL */
    const char *weights; /* a checkpoint: safetensors.h; or NULL */
    bool trace;          /* fill RunReport.trace */
    const char *backend; /* "host", "mpi", "cuda", "auto"; NULL: host */
    bool isolated;       /* in a child process: a crash, a hang ends the run alone (supervise.h) */
    double stall_s;      /* isolated: how long nothing may happen; 0: 3 s */
    struct World *world; /* the processes; NULL: this one */
    bool (*progress)(void *context, int done, int total); /* false cancels; may be NULL */
    void *context;
} RunOptions;

typedef struct {
    int32_t tensor;
    double max_abs, max_rel;
    int64_t max_ulp;
    uint64_t bits; /* of its elements on all ranks: runs of one plan agree where their bits do */
    bool ok;
} RunOutput;

/* One element of the first value that differs. */
typedef struct {
    int64_t rank;
    Shape at;                /* its place in the whole */
    double got, want, range; /* range: the largest element of the whole */
} RunWrong;

typedef struct {
    int n_ranks;
    int n_passes;        /* that were finished: fewer than were asked for where it was stopped */
    int n_timed;         /* of them; where no other was finished, one that warmed up */
    const char *backend; /* the runner's name */
    bool elsewhere;      /* process 0 has the report, this is another: all but `ok` is zero */
    int n_outputs;       /* 0 when there was nothing to compare with */
    RunOutput *outputs;  /* graph outputs against the given vectors, else one device (verify) */
    int32_t first_bad;   /* tensor: the first value in program order that differs; -1 none */
    RunWrong wrong;      /* where first_bad >= 0 */
    double median_us, predicted_us;
    double begin_us; /* of a device: what it took the host to begin a pass on it, median too */
    int64_t peak_bytes, predicted_peak_bytes; /* of the rank that needs most */
    int64_t *rank_peak_bytes;                 /* per rank: the most that lay in its slots at once */
    double *op_us;           /* per op of the graph: median over ranks and repeats */
    double *reshard_us;      /* per reshard of the plan, waiting for the other ranks included */
    double *reshard_move_us; /* the same without the waiting */
    int n_drawn;             /* weights that are not in the model */
    int32_t strange;         /* an output with elements that are not finite; -1 none */
    int64_t n_strange;       /* so many on one rank */
    int n_values_checked;    /* values as laid out, each on every rank; addends are not compared */
    int n_copied_ops;        /* that a device has no kernel for: the host's did them, on copies */
    int n_copied_operators;
    const char **copied_operator; /* theirs, each once */
    const char *instead; /* why the host has run what "auto" would have given to a device; NULL */
    const Trace *trace;  /* NULL: not asked for, or stopped between two passes */
    bool ok;
} RunReport;

enum { RUN_RANKS_MAX = 256, RUN_STALL_S = 3 };

static inline int run_passes(const RunOptions *options)
{
    return options->warmup + (options->repeat > 1 ? options->repeat : 1);
}

/* The report lives in the arena. ERROR_USAGE: the plan asks for more ranks than RUN_RANKS_MAX or
 * more memory than there is, a kernel is missing (names the op), the backend is not here;
 * ERROR_RUN: a rank failed; the rest is stopped. ERROR_CANCELLED: progress said so before one pass
 * was finished; after that the finished passes are reported. */
bool run_plan(Arena *arena, const Plan *plan, const RunOptions *options, RunReport *out,
              Error *err);

/* One ONNX test folder: DIR holds test_data_set_N/{input,output}_*.pb, and model.onnx is in it, or
 * NAME.onnx beside NAME.io. Fills report.outputs against output_*.pb (rtol 1e-3, atol 1e-7, as
 * ONNX's own runner, but an atol of at least 1e-5 of the largest element: f32 sums made in another
 * order differ so); the plan is that of the model (any mesh). Where an op draws numbers those of
 * output_*.pb are another generator's: only their types and shapes are demanded, and the outputs
 * are compared with one device. */
bool run_onnx_test(Arena *arena, const Plan *plan, const char *data_set, const RunOptions *options,
                   RunReport *out, Error *err);

#endif

/* bench.h - what the parts of `make bench` share. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include "core/session/session.h"

double now_ns(void);
double least(double a, double b); /* 0: nothing yet */
/* Prints a line "NAME VALUE UNIT". */
void figure(const char *name, double value, const char *unit);
void must(bool ok, const Error *err);
Mesh *mesh_of(Arena *arena, const char *text);
Machine machine(void);
/* Adds a pin of a tensor's dim by one axis, in so many parts. */
void pin(const Inferred *inferred, const Mesh *mesh, Arena *arena, Journal *journal, int32_t tensor,
         int dim, int axis, int64_t interleave);

/* bench_flow.c: propagation of a transformer as fine as StableHLO. What it runs when it is counted
 * by callgrind: one propagation of so many layers. */
void bench_flow(const char *program);
void bench_flow_counted(int n_layers);

void bench_reshard(void); /* bench_reshard.c */
void bench_solve(
    void); /* bench_solve.c; alone: bench --solve; on files: bench --solve SECONDS FILE.. */
void bench_solve_files(double seconds, int n, char **files);
void bench_policies(void); /* bench_policy.c */
void bench_models(void);   /* bench_models.c */
void bench_search(void);   /* bench_search.c; alone: bench --search */
void bench_step(void);     /* bench_step.c; alone: bench --step */
void bench_estimate(void); /* bench_estimate.c; alone: bench --estimate */
void bench_run(void);      /* bench_run.c */
void bench_readers(void);  /* bench_readers.c; alone: bench --readers */
void bench_viz(void);      /* bench_viz.c; alone: bench --viz */

/* bench_scale.c: what the explorer takes at a million ops, in processes of its own; one of them. */
void bench_scale(const char *program);
void bench_scale_part(const char *part, const char *file);

/* A session on a graph, or on a model file, cut as Megatron does. */
Session *bench_session(Graph *graph, const char *model);

#endif

#include "core/run/block_sums.h"

static RunBlockSum sum_of(const RunReport *report, int stage, RunPass pass)
{
    RunBlockSum sum = {.pass = pass, .stage = stage};

    for (int i = 0; i < report->n_blocks; i++) {
        const RunBlock *block = &report->blocks[i];
        if (block->of.pass != pass || block->of.stage != stage)
            continue;
        sum.n++;
        sum.us += block->us;
        sum.wait_us += block->wait_us;
        sum.predicted_us += block->of.predicted_us;
    }
    if (sum.n > 0) {
        sum.us /= sum.n;
        sum.wait_us /= sum.n;
        sum.predicted_us /= sum.n;
    }
    return sum;
}

RunBlockSums run_block_sums(Arena *arena, const RunReport *report)
{
    RunBlockSums out = {0};

    for (int i = 0; i < report->n_blocks; i++)
        if (report->blocks[i].of.stage >= out.n_stages)
            out.n_stages = report->blocks[i].of.stage + 1;
    out.at = arena_array(arena, RunBlockSum, (int64_t)out.n_stages * N_RUN_PASSES);
    for (int i = 0; i < out.n_stages * N_RUN_PASSES; i++) {
        RunBlockSum sum = sum_of(report, i / N_RUN_PASSES, (RunPass)(i % N_RUN_PASSES));
        if (sum.n > 0)
            out.at[out.n++] = sum;
    }
    return out;
}

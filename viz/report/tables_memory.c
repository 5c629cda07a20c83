/* tables_memory.c - the memory of devices. */
#include "viz/report/cells.h"

#include "core/summary/label.h"
#include "core/summary/sheets.h"

static bool rows_memory(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    MemoryAccount *account = memory_account_new(session->plan);
    RankMemories ranks = memory_ranks(out->arena, account, NULL);

    sheet_memory_rows(session, &ranks, out);
    memory_account_free(account);
    return true;
}

const PlanTable table_memory = {"memory", "ranks with equal needs; bytes by class at their peak",
                                sheet_memory_columns, rows_memory};

static void put_place(const Session *session, int place, Sheet *out)
{
    bool op = 0 <= place && place < session->inferred->n_program;

    table_put_text(out, op ? op_name(session->graph, session->inferred->program[place]) : "");
}

static bool rows_live(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    MemoryUse use = memory_use(out->arena, session->plan);
    LiveSet live = memory_live_at(out->arena, session->plan, use.rank, use.peak_place);

    for (int i = 0; i < live.n; i++) {
        const LiveValue *value = &live.at[i];
        table_put_text(out, tensor_name(session->graph, value->tensor));
        sheet_put(out, label_tensor(session, out->arena, value->tensor));
        table_put_text(out, memory_class_name(value->class));
        table_put_text(out, dtype_name((Dtype)session->inferred->dtype[value->tensor]));
        table_put_sharding(out, session, value->sharding, VIEW_OURS);
        sheet_number(out, (double)value->bytes);
        sheet_number(out, (double)value->padding_bytes);
        put_place(session, value->from, out);
        put_place(session, value->to, out);
    }
    return true;
}

static const SheetColumn live_columns[] = {
    {"tensor", false},       {"label", false},
    {"class", false},        {"dtype", false},
    {"sharding", false},     {"bytes", true},
    {"padding_bytes", true}, {"from", false},
    {"to", false},           {0},
};

const PlanTable table_live = {
    "live",
    "values alive at the peak, the largest first; from the op that produces it (empty: exists "
    "before the run) to the last that reads it (empty: to the end)",
    live_columns, rows_live};

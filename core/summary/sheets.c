#include "core/summary/sheets.h"

#include "core/base/intern.h"
#include "core/summary/label.h"

#include <inttypes.h>

/* ---- collectives ---- */

const SheetColumn sheet_comm_columns[] = {
    {"times", true},      {"kinds", false},
    {"axes", false},      {"tensor", false},
    {"from", false},      {"to", false},
    {"bytes", true},      {"wire_bytes", true},
    {"us", true},         {"total_us", true},
    {"exposed_us", true}, {"asked", false},
    {"cause", false},     {0},
};

static void put_sharding(const Session *session, int32_t id, ShardingView view, Sheet *out)
{
    Buf text = buf_new(out->arena);

    sharding_format(shardings_at(session->plan->shardings, id), session->mesh, view, &text, NULL);
    sheet_put(out, buf_str(&text));
}

void sheet_comm_rows(const Comm *comm, ShardingView view, Sheet *out)
{
    const Session *session = comm->session;

    for (int i = 0; i < comm->n_rows; i++) {
        const CommRow *row = &comm->row[i];
        const Reshard *reshard = &session->plan->moved->reshards[row->first];
        const ReshardPath *path = reshard->path;
        Buf kinds = buf_new(out->arena), axes = buf_new(out->arena);
        for (int s = 0; s < path->n_steps; s++) {
            buf_printf(&kinds, "%s%s", s ? " " : "", step_kind_name(path->step[s].kind));
            buf_puts(&axes, s ? " " : "");
            mesh_format_set(session->mesh, path->step[s].atoms, ".", &axes);
        }
        const Decision *pin = comm_cause(out->arena, session, reshard);
        sheet_number(out, row->times);
        sheet_put(out, buf_str(&kinds));
        sheet_put(out, buf_str(&axes));
        sheet_put(out, str_from(row->label));
        put_sharding(session, reshard->from, view, out);
        put_sharding(session, reshard->to, view, out);
        sheet_number(out, (double)comm_payload(reshard));
        sheet_number(out, (double)path->wire_bytes);
        sheet_number(out, path->us);
        sheet_number(out, row->us);
        sheet_number(out, row->exposed_us);
        sheet_put(out, comm_is_asked(session->plan, reshard) ? STR("yes") : STR("no"));
        sheet_put(out, pin ? label_pin(out->arena, pin) : STR(""));
    }
}

/* ---- memory ---- */

const SheetColumn sheet_memory_columns[] = {
    {"devices", false},
    {"n_devices", true},
    {"peak_bytes", true},
    {"limit_bytes", true},
    {"peak_op", false},
    {"parameter_bytes", true},
    {"gradient_bytes", true},
    {"optimizer_state_bytes", true},
    {"input_bytes", true},
    {"activation_bytes", true},
    {"constant_bytes", true},
    {"collective_buffer_bytes", true},
    {0},
};

/* "d0..d3": a run of devices, at the end of a list. */
static void put_run(int64_t first, int64_t last, const char *before, Buf *out)
{
    buf_printf(out, "%sd%" PRId64, before, first);
    if (last > first)
        buf_printf(out, "%sd%" PRId64, last > first + 1 ? ".." : " ", last);
}

void sheet_format_ranks(const RankMemories *ranks, int at, int64_t n_devices, int most, Buf *out)
{
    size_t began = out->n;
    for (int64_t rank = 0; rank < n_devices; rank++) {
        if (ranks->of_rank[rank] != at)
            continue;
        int64_t first = rank;
        while (rank + 1 < n_devices && ranks->of_rank[rank + 1] == at)
            rank++;
        int used = (int)(out->n - began);
        if (used > 0 && used > most - 12) {
            buf_puts(out, " ..");
            break;
        }
        put_run(first, rank, used > 0 ? " " : "", out);
    }
}

void sheet_memory_rows(const Session *session, const RankMemories *ranks, Sheet *out)
{
    enum { LISTED = 200 };

    for (int i = 0; i < ranks->n; i++) {
        const RankMemory *rank = &ranks->at[i];
        int place = rank->use.peak_place;
        Buf name = buf_new(out->arena);
        sheet_format_ranks(ranks, i, session->mesh->n_devices, LISTED, &name);
        sheet_put(out, buf_str(&name));
        sheet_number(out, (double)rank->n_ranks);
        sheet_number(out, (double)rank->use.peak_bytes);
        sheet_number(out, (double)session->machine->memory_bytes);
        sheet_put(out, place < 0
                           ? STR("")
                           : label_op(session, out->arena, session->inferred->program[place]));
        for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
            sheet_number(out, (double)rank->by_class[c]);
    }
}

int live_rows(Arena *arena, const Session *session, const LiveSet *set, LiveRow *rows)
{
    Intern *keys = intern_new(arena);

    for (int i = 0; i < set->n; i++) {
        const LiveValue *value = &set->at[i];
        Str name = label_tensor(session, arena, value->tensor);
        Buf key = buf_new(arena);
        text_wildcard(name, &key);
        size_t n = key.n;
        buf_printf(&key, "\n%d %d %" PRId64, (int)value->class, value->sharding, value->bytes);
        int32_t id = intern_put(keys, key.s, key.n);
        if (id == intern_count(keys) - 1 && rows[id].n == 0)
            rows[id] = (LiveRow){.first = i, .label = arena_str(arena, name)};
        else if (rows[id].n == 1)
            rows[id].label = arena_str(arena, (Str){key.s, n});
        rows[id].n++;
        rows[id].bytes += value->bytes;
    }
    return intern_count(keys);
}

/* ---- schedule ---- */

const SheetColumn sheet_schedule_columns[] = {
    {"stage", true}, {"devices", false}, {"pass", false},  {"micro_batch", true}, {"step", true},
    {"span", true},  {"start_us", true}, {"end_us", true}, {"after", false},      {0},
};

void sheet_format_block(const Block *block, Buf *out)
{
    buf_printf(out, "stage %d's %s of micro-batch %d", block->stage,
               schedule_pass_name((BlockPass)block->pass), block->micro_batch);
}

void sheet_schedule_rows(const Session *session, const Schedule *schedule, Sheet *out)
{
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        Buf devices = buf_new(out->arena), after = buf_new(out->arena);
        comm_format_part(session, session->plan->decided->stages->at[block->stage].devices,
                         &devices);
        if (block->after >= 0)
            sheet_format_block(&schedule->block[block->after], &after);
        sheet_number(out, block->stage);
        sheet_put(out, buf_str(&devices));
        sheet_put(out, str_from(schedule_pass_name((BlockPass)block->pass)));
        sheet_number(out, block->micro_batch);
        sheet_number(out, block->step);
        sheet_number(out, block->span);
        sheet_number(out, block->start_us);
        sheet_number(out, block->end_us);
        sheet_put(out, buf_str(&after));
    }
}

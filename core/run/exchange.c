#include "core/run/exchange.h"

#include "core/base/vec.h"
#include "core/run/kernel.h"

#include <assert.h>

/* ---- pieces ---- */

/* The common length of the table's runs, whose places are `step` apart; if lengths differ, their
 * greatest common divisor. */
static int64_t run_length(const int64_t *place, int64_t n, int64_t step)
{
    int64_t length = 0, run = 1;
    for (int64_t i = 1; i < n; i++, run++)
        if (place[i] != place[i - 1] + step) {
            length = common_divisor(length, run);
            run = 0;
        }
    return common_divisor(length, run);
}

/* Extends rows while the last dim is contiguous; dims of one place go into `first`. */
static void join_rows(Piece *piece)
{
    bool grows = true;
    int n_kept = piece->n_dims;
    for (int d = piece->n_dims - 1; grows && d >= 0; d--) {
        int64_t length = run_length(piece->place[d], piece->size[d], piece->row);
        grows = length == piece->size[d];
        for (int64_t i = 0; i < piece->size[d]; i += length)
            piece->place[d][i / length] = piece->place[d][i];
        piece->size[d] /= length;
        piece->row *= length;
        n_kept -= grows;
        piece->first += grows ? piece->place[d][0] : 0;
    }
    piece->n_dims = 0;
    for (int d = 0; d < n_kept; d++) {
        assert(piece->place[d]);
        if (piece->size[d] == 1) {
            piece->first += piece->place[d][0];
            continue;
        }
        piece->size[piece->n_dims] = piece->size[d];
        piece->place[piece->n_dims++] = piece->place[d];
    }
}

/* A rank's part of a tensor, by dim. */
typedef struct {
    Shape shape;
    Runs runs[DIMS_MAX];
} RankPart;

static RankPart part_at(Arena *arena, const Sharding *sharding, const Mesh *mesh, int64_t position)
{
    RankPart part = {.shape = {.n_dims = sharding->n_dims}};
    for (int64_t d = 0; d < sharding->n_dims; d++) {
        part.runs[d] = cut_runs(arena, &sharding->dim[d], mesh, position);
        part.shape.dim[d] = part.runs[d].local_size;
    }
    return part;
}

/* Places of the intersection of two parts along dim d, in the order of the receiver: in the
 * sender's or in the receiver's dim. */
static int64_t common_places(Arena *arena, const Runs *taker, const Runs *giver, bool in_giver,
                             int64_t **out)
{
    int64_t n = 0, at = 0;
    *out = arena_array(arena, int64_t, taker->local_size);
    for (int r = 0; r < taker->n; r++)
        for (int64_t k = 0; k < taker->at[r].length; k++, at++) {
            int64_t place = runs_find(giver, taker->at[r].start + k);
            if (place >= 0)
                (*out)[n++] = in_giver ? place : at;
        }
    return n;
}

/* The intersection of two parts, as places of the sender's or of the receiver's part. */
static Piece common_piece(Arena *arena, const RankPart *taker, const RankPart *giver, bool in_giver)
{
    Piece piece = {.n_dims = (int)taker->shape.n_dims, .n_elements = 1, .row = 1};
    int64_t stride[DIMS_MAX];
    row_major_strides(in_giver ? &giver->shape : &taker->shape, stride);
    for (int d = 0; d < piece.n_dims && piece.n_elements > 0; d++) {
        piece.size[d] =
            common_places(arena, &taker->runs[d], &giver->runs[d], in_giver, &piece.place[d]);
        for (int64_t i = 0; i < piece.size[d]; i++)
            piece.place[d][i] *= stride[d];
        piece.n_elements *= piece.size[d];
    }
    if (piece.n_elements > 0)
        join_rows(&piece);
    return piece;
}

/* ---- rows of a piece ---- */

/* Rows that differ in the last dim only. */
typedef struct {
    int64_t first, n;
    const int64_t *place; /* of each, from `first` on */
} ExchangeRows;

typedef struct {
    const Piece *piece;
    int64_t at[DIMS_MAX];
    bool end;
} RowScan;

static RowScan rows_scan(const Piece *piece)
{
    return (RowScan){.piece = piece, .end = piece->n_elements == 0};
}

/* Returns the next rows; false at the end. */
static bool rows_next(RowScan *scan, ExchangeRows *rows)
{
    static const int64_t here = 0;
    const Piece *piece = scan->piece;
    int last = piece->n_dims - 1;
    if (scan->end)
        return false;
    *rows = (ExchangeRows){piece->first, last < 0 ? 1 : piece->size[last],
                           last < 0 ? &here : piece->place[last]};
    for (int d = 0; d < last; d++)
        rows->first += piece->place[d][scan->at[d]];
    int d = last - 1;
    while (d >= 0 && ++scan->at[d] == piece->size[d])
        scan->at[d--] = 0;
    scan->end = d < 0;
    return true;
}

void piece_pack(const Piece *piece, Dtype dtype, const void *part, void *message)
{
    size_t n_bytes = (size_t)element_bytes(dtype), row = (size_t)piece->row * n_bytes;
    ExchangeRows rows;
    char *to = message;
    for (RowScan scan = rows_scan(piece); rows_next(&scan, &rows);)
        for (int64_t i = 0; i < rows.n; i++, to += row)
            memcpy(to, (const char *)part + (size_t)(rows.first + rows.place[i]) * n_bytes, row);
}

void piece_unpack(const Piece *piece, Dtype dtype, const void *message, void *part)
{
    size_t n_bytes = (size_t)element_bytes(dtype), row = (size_t)piece->row * n_bytes;
    ExchangeRows rows;
    const char *from = message;
    for (RowScan scan = rows_scan(piece); rows_next(&scan, &rows);)
        for (int64_t i = 0; i < rows.n; i++, from += row)
            memcpy((char *)part + (size_t)(rows.first + rows.place[i]) * n_bytes, from, row);
}

bool piece_combine(const Piece *piece, Dtype dtype, ReduceOp reduce, const void *message,
                   void *part)
{
    int64_t n_bytes = element_bytes(dtype);
    ExchangeRows rows;
    const char *from = message;
    for (RowScan scan = rows_scan(piece); rows_next(&scan, &rows);)
        for (int64_t i = 0; i < rows.n; i++, from += piece->row * n_bytes) {
            char *to = (char *)part + (rows.first + rows.place[i]) * n_bytes;
            if (!kernel_combine(reduce, dtype, to, from, 1, piece->row))
                return false;
        }
    return true;
}

/* ---- messages ---- */

typedef Vec(Message) MessageList;

typedef struct {
    Arena *arena, *scratch;
    Exchange *exchange;
    SubMesh makers, readers;
    RankPart mine; /* of the target, then of the source */
} PartMaking;

/* One element of a dim, in the place of another part's runs. */
static Runs run_of_one(Arena *arena, int64_t global)
{
    Runs runs = runs_whole(arena, 1);
    runs.at[0].start = global;
    return runs;
}

/* What is carried is the end of the giver's part; the taker puts it at its first element, and from
 * there at all others. */
static void carry_end(Arena *arena, const Collective *c, RankPart *taker, RankPart *giver,
                      bool in_giver)
{
    int dim = sharding_carried_dim(c->from);
    Runs *from = &giver->runs[dim], *to = &taker->runs[dim];
    int64_t end =
        from->at[0].start + (c->from->dim[dim].after == CUT_CARRY ? from->local_size - 1 : 0);
    if (in_giver)
        *to = run_of_one(arena, end);
    else
        *from = run_of_one(arena, to->at[0].start);
}

static void add_message(PartMaking *m, MessageList *messages, int64_t other, PartUse use,
                        bool sends)
{
    const Collective *c = &m->exchange->collective;
    RankPart part = part_at(m->scratch, sends ? c->to : c->from, c->mesh, other), mine = m->mine;
    if (use == PART_CARRIED)
        carry_end(m->scratch, c, sends ? &part : &mine, sends ? &mine : &part, sends);
    Piece piece = sends ? common_piece(m->arena, &part, &mine, true)
                        : common_piece(m->arena, &mine, &part, false);
    if (piece.n_elements > 0)
        vec_push(m->arena, messages, (Message){.position = other, .use = use, .piece = piece});
}

static void list_takes(PartMaking *m)
{
    Exchange *x = m->exchange;
    const Collective *c = &x->collective;
    MessageList receives = {.n = 0};
    int64_t n_members = mesh_atoms_size(c->mesh, c->atoms);
    m->mine = part_at(m->scratch, c->to, c->mesh, x->position);
    for (int64_t i = 0; i < n_members; i++) {
        int64_t member = mesh_group_member(c->mesh, c->atoms, x->position, i);
        PartUse use = collective_use(c, &x->roles, x->position, member);
        if (use != PART_UNREAD)
            add_message(m, &receives, submesh_twin(c->mesh, m->makers, member), use, false);
    }
    x->receive = receives.at;
    x->n_receives = receives.n;
}

/* How a reader uses this rank's part, given the member of the reader's group at the same place. */
static PartUse use_by(const PartMaking *m, int64_t reader)
{
    const Exchange *x = m->exchange;
    const Collective *c = &x->collective;
    int64_t n_members = mesh_atoms_size(c->mesh, c->atoms);
    for (int64_t i = 0; i < n_members; i++) {
        int64_t member = mesh_group_member(c->mesh, c->atoms, reader, i);
        PartUse use = collective_use(c, &x->roles, reader, member);
        if (use != PART_UNREAD && submesh_twin(c->mesh, m->makers, member) == x->position)
            return use;
    }
    return PART_UNREAD;
}

static void list_gives(PartMaking *m)
{
    Exchange *x = m->exchange;
    const Collective *c = &x->collective;
    bool sends = !submesh_equal(m->makers, m->readers);
    int64_t n = sends ? submesh_size(c->mesh, m->readers) : mesh_atoms_size(c->mesh, c->atoms);
    MessageList messages = {.n = 0};
    m->mine = part_at(m->scratch, c->from, c->mesh, x->position);
    for (int64_t i = 0; i < n; i++) {
        int64_t reader = sends ? submesh_position(c->mesh, m->readers, i)
                               : mesh_group_member(c->mesh, c->atoms, x->position, i);
        PartUse use = sends ? use_by(m, reader) : collective_use(c, &x->roles, reader, x->position);
        if (use != PART_UNREAD)
            add_message(m, &messages, reader, use, true);
    }
    x->send = messages.at;
    x->n_sends = messages.n;
}

bool exchange_make(Arena *arena, const Collective *collective, SubMesh makers, SubMesh readers,
                   int64_t position, Exchange *out, Error *err)
{
    *out = (Exchange){.collective = *collective, .position = position};
    if (!collective_roles(collective, &out->roles, err))
        return false;
    PartMaking making = {.arena = arena, .exchange = out, .makers = makers, .readers = readers};
    making.scratch = arena_new();
    if (submesh_has(collective->mesh, readers, position))
        list_takes(&making);
    if (submesh_has(collective->mesh, makers, position))
        list_gives(&making);
    arena_free(making.scratch);
    return true;
}

void exchange_repeats(const Exchange *exchange, const Message *receive, const Shape *target,
                      int64_t *n, int64_t *step)
{
    int64_t stride[DIMS_MAX];
    int dim = sharding_carried_dim(exchange->collective.from);
    *n = 1;
    *step = 0;
    if (receive->use != PART_CARRIED)
        return;
    row_major_strides(target, stride);
    *n = target->dim[dim];
    *step = stride[dim];
}

bool exchange_receive(const Exchange *exchange, const Message *receive, const void *message,
                      Local *target, Error *err)
{
    int64_t n, step;
    exchange_repeats(exchange, receive, &target->shape, &n, &step);
    if (receive->use == PART_COPIED)
        piece_unpack(&receive->piece, target->dtype, message, target->data);
    for (int64_t i = 0; receive->use != PART_COPIED && i < n; i++)
        if (!piece_combine(&receive->piece, target->dtype, exchange->roles.reduce, message,
                           local_at(target, i * step)))
            return error_kind(err, ERROR_RUN, "elements of type %s cannot be combined",
                              dtype_name(target->dtype));
    return true;
}

bool exchange_finish(const Exchange *exchange, Local *target, Error *err)
{
    int64_t n_copied = 0;
    for (int i = 0; i < exchange->n_receives; i++)
        if (exchange->receive[i].use == PART_COPIED)
            n_copied += exchange->receive[i].piece.n_elements;
    return collective_finish(&exchange->collective, &exchange->roles, exchange->position, n_copied,
                             target, err);
}

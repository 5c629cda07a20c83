#include "core/run/mpi/steps.h"

#include "core/run/kernel.h"
#include "core/run/mpi/ragged.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct {
    MpiSteps *steps;
    const MpiStep *step;
    const Local *source;
    Local *target;
    Error *err;
} Doing;

/* ---- shared by steps ---- */

bool mpi_steps_open(Arena *arena, const Mesh *mesh, MPI_Comm world, bool in_order, MpiSteps *out,
                    Error *err)
{
    int position = 0;
    *out = (MpiSteps){.arena = arena, .mesh = mesh, .in_order = in_order, .n_most = INT32_MAX};
    if (!mpi_types_open(&out->types, err) || !MPI_CALL(err, MPI_Comm_dup, world, &out->world))
        return false;
    MPI_Comm_set_errhandler(out->world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(out->world, &position);
    out->position = position;
    return true;
}

void mpi_steps_close(MpiSteps *steps)
{
    for (int g = 0; g < steps->groups.n; g++)
        MPI_Comm_free(&steps->groups.at[g].comm);
    for (int t = 0; t < steps->made.n; t++)
        MPI_Type_free(&steps->made.at[t]);
    MPI_Comm_free(&steps->world);
    mpi_types_close(&steps->types);
    free(steps->send.at);
    free(steps->receive.at);
    free(steps->posted.requests.at);
    free(steps->posted.staged.at);
}

/* A buffer for n elements, uninitialised; NULL with *err when memory is out. */
static void *room_for(Room *room, Dtype dtype, int64_t n, Error *err)
{
    int64_t n_bytes = n * element_bytes(dtype);
    if (n_bytes < room->n_bytes)
        return room->at;
    void *at = realloc(room->at, (size_t)n_bytes + 1);
    if (at)
        *room = (Room){.at = at, .n_bytes = n_bytes + 1};
    else
        error_kind(err, ERROR_RUN, "out of memory for messages of %" PRId64 " bytes", n_bytes);
    return at;
}

static bool make_group(MpiSteps *steps, AtomSet atoms, MPI_Comm *out, Error *err)
{
    int64_t n = mesh_atoms_size(steps->mesh, atoms);
    int *ranks = arena_array(steps->arena, int, n);
    MPI_Group world, group;
    for (int64_t i = 0; i < n; i++)
        ranks[i] = (int)mesh_group_member(steps->mesh, atoms, steps->position, i);
    MPI_Comm_group(steps->world, &world);
    MPI_Group_incl(world, (int)n, ranks, &group);
    bool ok = MPI_CALL(err, MPI_Comm_create_group, steps->world, group, 1, out);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return ok;
}

static bool find_group(MpiSteps *steps, AtomSet atoms, MPI_Comm *out, Error *err)
{
    for (int g = 0; g < steps->groups.n; g++)
        if (steps->groups.at[g].atoms == atoms) {
            *out = steps->groups.at[g].comm;
            return true;
        }
    if (!make_group(steps, atoms, out, err))
        return false;
    MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
    vec_push(steps->arena, &steps->groups, (MpiGroup){atoms, *out});
    return true;
}

/* ---- preparing ---- */

static int member_at(const MpiSteps *steps, AtomSet atoms, int n_members, int64_t position)
{
    int i = 0;
    while (i < n_members && mesh_group_member(steps->mesh, atoms, steps->position, i) != position)
        i++;
    return i;
}

/* Messages by member; direct when each is contiguous in the part and, if in_row, follows the
 * previous one. */
static MpiBlocks blocks_of(MpiSteps *steps, const MpiStep *step, const Message *message,
                           int n_messages, bool in_row)
{
    int n = step->n_members;
    MpiBlocks blocks = {.direct = true};
    blocks.message = arena_array(steps->arena, const Message *, n);
    blocks.n = arena_array(steps->arena, int, 2 * (int64_t)n);
    blocks.at = blocks.n + n;
    for (int i = 0; i < n_messages; i++) {
        const Piece *piece = &message[i].piece;
        int m = member_at(steps, step->exchange.collective.atoms, n, message[i].position);
        blocks.message[m] = &message[i];
        blocks.n[m] = (int)piece->n_elements;
        blocks.direct = blocks.direct && piece_is_contiguous(piece) &&
                        (!in_row || piece->first == blocks.n_all);
        blocks.n_all += piece->n_elements;
    }
    return blocks;
}

static void lay_out(MpiBlocks *blocks, int n_members)
{
    int64_t at = 0;
    for (int m = 0; m < n_members; m++) {
        const Message *message = blocks->message[m];
        blocks->at[m] = (int)(blocks->direct && message ? message->piece.first : at);
        at += blocks->n[m];
    }
}

static bool has_addends(const Exchange *x)
{
    for (int i = 0; i < x->n_receives; i++)
        if (x->receive[i].use != PART_COPIED)
            return true;
    return false;
}

static void make_blocks(MpiSteps *steps, MpiStep *step)
{
    const Exchange *x = &step->exchange;
    bool in_row = step->kind == STEP_REDUCE_SCATTER; /* MPI_Reduce_scatter takes no displacements */
    step->send = blocks_of(steps, step, x->send, x->n_sends, in_row);
    step->receive = blocks_of(steps, step, x->receive, x->n_receives, false);
    step->receive.direct = step->receive.direct && !has_addends(x);
    lay_out(&step->send, step->n_members);
    lay_out(&step->receive, step->n_members);
}

/* The first element of the piece. */
static int64_t piece_begin(const Piece *piece)
{
    int64_t begin = piece->first;
    for (int d = 0; d < piece->n_dims; d++)
        begin += piece->place[d][0];
    return begin;
}

/* Replaces *type by its repetition at the places of a dim. */
static bool repeat_type(MpiSteps *steps, const Piece *piece, int dim, int64_t n_bytes,
                        MPI_Datatype *type, Error *err)
{
    const int64_t *place = piece->place[dim], size = piece->size[dim];
    MPI_Aint *at = arena_array(steps->arena, MPI_Aint, size);
    MPI_Datatype inner = *type;
    bool even = true;
    for (int64_t i = 0; i < size; i++) {
        at[i] = (MPI_Aint)((place[i] - place[0]) * n_bytes);
        even = even && at[i] == at[1] * i;
    }
    bool ok = even ? MPI_CALL(err, MPI_Type_create_hvector, (int)size, 1, at[1], inner, type)
                   : MPI_CALL(err, MPI_Type_create_hindexed_block, (int)size, 1, at, inner, type);
    if (ok)
        vec_push(steps->arena, &steps->made, *type);
    return ok;
}

/* The type of a piece's rows; MPI_DATATYPE_NULL when contiguous or when rows are too short. */
static bool piece_type(MpiSteps *steps, const Piece *piece, Dtype dtype, MPI_Datatype *out,
                       Error *err)
{
    enum { ROW_BYTES_LEAST = 256 };
    int64_t n_bytes = element_bytes(dtype);
    *out = MPI_DATATYPE_NULL;
    if (piece_is_contiguous(piece) || piece->row * n_bytes < ROW_BYTES_LEAST)
        return true;
    MPI_Datatype type;
    if (!MPI_CALL(err, MPI_Type_contiguous, (int)piece->row, steps->types.element[dtype], &type))
        return false;
    vec_push(steps->arena, &steps->made, type);
    for (int d = piece->n_dims - 1; d >= 0; d--)
        if (!repeat_type(steps, piece, d, n_bytes, &type, err))
            return false;
    *out = type;
    return MPI_CALL(err, MPI_Type_commit, out);
}

static bool make_types(MpiSteps *steps, MpiStep *step, Error *err)
{
    const Exchange *x = &step->exchange;
    bool typed = !step->large, ok = true;
    step->send_type = arena_array(steps->arena, MPI_Datatype, x->n_sends);
    step->receive_type = arena_array(steps->arena, MPI_Datatype, x->n_receives);
    for (int i = 0; i < x->n_sends; i++)
        step->send_type[i] = MPI_DATATYPE_NULL;
    for (int i = 0; i < x->n_receives; i++)
        step->receive_type[i] = MPI_DATATYPE_NULL;
    for (int i = 0; typed && ok && i < x->n_sends; i++)
        ok = piece_type(steps, &x->send[i].piece, step->dtype, &step->send_type[i], err);
    for (int i = 0; typed && ok && i < x->n_receives; i++)
        ok = x->receive[i].use != PART_COPIED ||
             piece_type(steps, &x->receive[i].piece, step->dtype, &step->receive_type[i], err);
    return ok;
}

/* Checks that the whole group is at this step; finds whether all ranks can send and receive
 * directly. */
static bool meet_at(const MpiSteps *steps, MpiStep *step, const MpiStepCall *call, Error *err)
{
    const int64_t mine[] = {
        call->number, (int64_t)call->kind,
        mesh_group_member(steps->mesh, call->collective.atoms, steps->position, 0),
        step->send.direct && step->receive.direct};
    enum { N = sizeof mine / sizeof *mine, N_SAME = N - 1 };
    int64_t *all = arena_array(steps->arena, int64_t, (int64_t)N * step->n_members);
    if (!MPI_CALL(err, MPI_Allgather, mine, N, MPI_INT64_T, all, N, MPI_INT64_T, step->comm))
        return false;
    step->direct = true;
    for (int i = 0; i < step->n_members; i++) {
        step->direct = step->direct && all[(int64_t)N * i + N_SAME];
        if (memcmp(all + (int64_t)N * i, mine, N_SAME * sizeof *mine) != 0)
            return error_kind(
                err, ERROR_RUN, "rank %" PRId64 " is at instruction %" PRId64 ", not at %" PRId64,
                mesh_group_member(steps->mesh, call->collective.atoms, steps->position, i),
                all[(int64_t)N * i], call->number);
    }
    return true;
}

static bool is_among(StepKind kind)
{
    return kind != STEP_SEND && kind != STEP_BROADCAST;
}

MpiStep *mpi_step_prepare(MpiSteps *steps, const MpiStepCall *call, Error *err)
{
    const Collective *c = &call->collective;
    MpiStep *step = arena_make(steps->arena, MpiStep);
    *step = (MpiStep){.kind = call->kind, .dtype = call->dtype, .comm = MPI_COMM_NULL};
    step->n_members = (int)mesh_atoms_size(steps->mesh, c->atoms);
    if (!exchange_make(steps->arena, c, call->makers, call->readers, steps->position,
                       &step->exchange, err))
        return NULL;
    int64_t n_from = sharding_most_elements(c->from, steps->mesh);
    int64_t n_to = sharding_most_elements(c->to, steps->mesh) *
                   (call->kind == STEP_REDUCE_SCATTER ? step->n_members : 1);
    step->large = n_from > steps->n_most || n_to > steps->n_most;
    if (c->atoms == 0 || !is_among(call->kind))
        return make_types(steps, step, err) ? step : NULL;
    for (int i = 0; i < step->n_members; i++) {
        int64_t member = mesh_group_member(steps->mesh, c->atoms, steps->position, i);
        if (submesh_has(steps->mesh, call->readers, member))
            continue;
        error_kind(err, ERROR_RUN, "rank %" PRId64 " is in the group, but not of the stage",
                   member);
        return NULL;
    }
    if (!step->large)
        make_blocks(steps, step);
    if (call->ragged > 0 && !step->large && call->kind == STEP_ALL_TO_ALL)
        step->row = mpi_ragged_row(steps, c, call->dtype, call->ragged);
    bool ok = find_group(steps, c->atoms, &step->comm, err) && meet_at(steps, step, call, err) &&
              make_types(steps, step, err);
    return ok ? step : NULL;
}

/* ---- packing ---- */

static void *pointer_at(const void *base, Dtype dtype, int64_t element)
{
    union {
        const void *in;
        char *out;
    } at = {.in = base};
    return at.out + element * element_bytes(dtype);
}

/* The data to send, a block per member; NULL when memory is out. */
static const void *packed(Doing *d)
{
    const MpiStep *step = d->step;
    if (step->send.direct)
        return d->source->data;
    char *room = room_for(&d->steps->send, step->dtype, step->send.n_all, d->err);
    for (int i = 0; room && i < step->n_members; i++)
        if (step->send.message[i])
            piece_pack(&step->send.message[i]->piece, step->dtype, d->source->data,
                       pointer_at(room, step->dtype, step->send.at[i]));
    return room;
}

/* The buffer to receive into, a block per member; NULL when memory is out. */
static void *received(Doing *d)
{
    return d->step->receive.direct
               ? d->target->data
               : room_for(&d->steps->receive, d->step->dtype, d->step->receive.n_all, d->err);
}

static bool receive_all(Doing *d, const void *blocks)
{
    const MpiStep *step = d->step;
    for (int i = 0; !step->receive.direct && i < step->n_members; i++)
        if (step->receive.message[i] &&
            !exchange_receive(&step->exchange, step->receive.message[i],
                              pointer_at(blocks, step->dtype, step->receive.at[i]), d->target,
                              d->err))
            return false;
    return true;
}

/* ---- algorithms ---- */

static bool all_gather(Doing *d)
{
    const MpiStep *step = d->step;
    MPI_Datatype type = d->steps->types.element[step->dtype];
    int64_t n_mine = shape_elements(&d->source->shape);
    void *to = received(d);
    return to &&
           MPI_CALL(d->err, MPI_Allgatherv, d->source->data, (int)n_mine, type, to, step->receive.n,
                    step->receive.at, type, step->comm) &&
           receive_all(d, to);
}

static bool ragged_all_to_all(Doing *d)
{
    return mpi_ragged_all_to_all(d->steps, d->step, d->source, d->target, d->err);
}

static bool all_to_all(Doing *d)
{
    const MpiStep *step = d->step;
    MPI_Datatype type = d->steps->types.element[step->dtype];
    const void *from = packed(d);
    void *to = from ? received(d) : NULL;
    return to &&
           MPI_CALL(d->err, MPI_Alltoallv, from, step->send.n, step->send.at, type, to,
                    step->receive.n, step->receive.at, type, step->comm) &&
           receive_all(d, to);
}

/* Splits n elements into shares that each member reduces. */
static void share_out(const MpiStep *step, int64_t n, int *counts, int *at)
{
    int64_t share = (n + step->n_members - 1) / step->n_members;
    for (int i = 0; i < step->n_members; i++) {
        int64_t first = share * i < n ? share * i : n;
        counts[i] = (int)(n - first < share ? n - first : share);
        at[i] = (int)first;
    }
}

/* Reduces n elements from `at` on: each member reduces its share of them, then all gather the
 * results. */
static bool reduce_in_order(Doing *d, int64_t at, int64_t n)
{
    const MpiStep *step = d->step;
    MPI_Datatype type = d->steps->types.element[step->dtype];
    int n_members = step->n_members, me = 0;
    Arena *scratch = arena_new();
    int *counts = arena_array(scratch, int, 4 * (int64_t)n_members), *from = counts + n_members;
    int *n_mine = from + n_members, *mine_at = n_mine + n_members;
    MPI_Comm_rank(step->comm, &me);
    share_out(step, n, counts, from);
    for (int i = 0; i < n_members; i++) {
        n_mine[i] = counts[me];
        mine_at[i] = counts[me] * i;
    }
    char *addends =
        room_for(&d->steps->receive, step->dtype, (int64_t)counts[me] * n_members, d->err);
    char *sums = local_at(d->target, at), *mine = pointer_at(sums, step->dtype, from[me]);
    bool ok = addends && MPI_CALL(d->err, MPI_Alltoallv, local_at(d->source, at), counts, from,
                                  type, addends, n_mine, mine_at, type, step->comm);
    if (ok)
        elements_copy(step->dtype, mine, addends, 1, counts[me]);
    for (int i = 1; ok && i < n_members; i++)
        kernel_combine(step->exchange.roles.reduce, step->dtype, mine,
                       pointer_at(addends, step->dtype, mine_at[i]), 1, counts[me]);
    ok = ok && MPI_CALL(d->err, MPI_Allgatherv, MPI_IN_PLACE, 0, type, sums, counts, from, type,
                        step->comm);
    arena_free(scratch);
    return ok;
}

static bool all_reduce(Doing *d)
{
    const MpiStep *step = d->step;
    int64_t n_all = shape_elements(&d->target->shape), n_most = d->steps->n_most - step->n_members;
    MPI_Datatype type;
    MPI_Op op;
    bool ok = true;
    mpi_reduction(&d->steps->types, step->dtype, step->exchange.roles.reduce, &type, &op);
    for (int64_t at = 0; ok && at < n_all; at += n_most) {
        int64_t n = n_all - at < n_most ? n_all - at : n_most;
        ok = d->steps->in_order ? reduce_in_order(d, at, n)
                                : MPI_CALL(d->err, MPI_Allreduce, local_at(d->source, at),
                                           local_at(d->target, at), (int)n, type, op, step->comm);
    }
    return ok;
}

static bool reduce_scatter(Doing *d)
{
    const MpiStep *step = d->step;
    MPI_Datatype type;
    MPI_Op op;
    mpi_reduction(&d->steps->types, step->dtype, step->exchange.roles.reduce, &type, &op);
    const void *from = packed(d);
    return from && MPI_CALL(d->err, MPI_Reduce_scatter, from, d->target->data, step->send.n, type,
                            op, step->comm);
}

/* ---- from rank to rank ---- */

/* Posts n elements, or one of a derived type (n = 1), in pieces that MPI's int counts can
 * express. */
static bool post(Doing *d, bool sends, int64_t other, void *data, int64_t n, MPI_Datatype type)
{
    MPI_Comm comm = d->steps->world;
    MpiPosted *posted = &d->steps->posted;
    bool ok = true;
    for (int64_t at = 0; ok && at < n; at += d->steps->n_most) {
        int n_now = (int)(n - at < d->steps->n_most ? n - at : d->steps->n_most);
        void *piece = pointer_at(data, d->step->dtype, at);
        vec_push(NULL, &posted->requests, MPI_REQUEST_NULL);
        MPI_Request *request = &posted->requests.at[posted->requests.n - 1];
        int code = sends ? MPI_Isend(piece, n_now, type, (int)other, 0, comm, request)
                         : MPI_Irecv(piece, n_now, type, (int)other, 0, comm, request);
        ok = mpi_fine(code, sends ? "MPI_Isend" : "MPI_Irecv", d->err);
    }
    return ok;
}

static int64_t elements_of(const Message *message, int n)
{
    int64_t n_elements = 0;
    for (int i = 0; i < n; i++)
        n_elements += message[i].piece.n_elements;
    return n_elements;
}

/* Whether a message needs no packing: it is contiguous, or has an MPI type. */
static bool needs_no_packing(const Message *message, MPI_Datatype type)
{
    return type != MPI_DATATYPE_NULL || piece_is_contiguous(&message->piece);
}

static bool post_there(Doing *d, bool sends, const Message *message, MPI_Datatype type,
                       const void *part)
{
    const Piece *piece = &message->piece;
    void *begin = pointer_at(part, d->step->dtype, piece_begin(piece));
    if (type != MPI_DATATYPE_NULL)
        return post(d, sends, message->position, begin, 1, type);
    return post(d, sends, message->position, begin, piece->n_elements,
                d->steps->types.element[d->step->dtype]);
}

static bool post_receives(Doing *d, char *room)
{
    const Exchange *x = &d->step->exchange;
    Dtype dtype = d->step->dtype;
    bool ok = true;
    for (int i = 0; ok && i < x->n_receives; i++) {
        const Message *receive = &x->receive[i];
        MPI_Datatype type = d->step->receive_type[i];
        if (receive->position == x->position)
            continue;
        if (receive->use == PART_COPIED && needs_no_packing(receive, type)) {
            ok = post_there(d, false, receive, type, d->target->data);
            continue;
        }
        d->steps->posted.staged.at[i] = room;
        ok = post(d, false, receive->position, room, receive->piece.n_elements,
                  d->steps->types.element[dtype]);
        room += receive->piece.n_elements * element_bytes(dtype);
    }
    return ok;
}

static void *pack_at(const Doing *d, const Message *send, char **room)
{
    char *at = *room;
    piece_pack(&send->piece, d->step->dtype, d->source->data, at);
    *room += send->piece.n_elements * element_bytes(d->step->dtype);
    return at;
}

/* All but the message to itself. */
static bool post_sends(Doing *d, char **room)
{
    const Exchange *x = &d->step->exchange;
    bool ok = true;
    for (int i = 0; ok && i < x->n_sends; i++) {
        const Message *send = &x->send[i];
        MPI_Datatype type = d->step->send_type[i];
        if (send->position == x->position)
            continue;
        ok = needs_no_packing(send, type)
                 ? post_there(d, true, send, type, d->source->data)
                 : post(d, true, send->position, pack_at(d, send, room), send->piece.n_elements,
                        d->steps->types.element[d->step->dtype]);
    }
    return ok;
}

/* Copies the message to itself meanwhile; addends wait for their turn. */
static bool receive_own(Doing *d, char **room)
{
    const Exchange *x = &d->step->exchange;
    const Message *send = x->send, *receive = x->receive;
    if (x->n_sends == 0 || x->n_receives == 0)
        return true;
    while (send < x->send + x->n_sends && send->position != x->position)
        send++;
    while (receive < x->receive + x->n_receives && receive->position != x->position)
        receive++;
    if (send == x->send + x->n_sends || receive == x->receive + x->n_receives)
        return true;
    bool copied = receive->use == PART_COPIED, there = piece_is_contiguous(&send->piece);
    if (!there && copied && piece_is_contiguous(&receive->piece)) {
        piece_pack(&send->piece, d->step->dtype, d->source->data,
                   local_at(d->target, receive->piece.first));
        return true;
    }
    void *own = there ? local_at(d->source, send->piece.first) : pack_at(d, send, room);
    if (copied)
        return exchange_receive(x, receive, own, d->target, d->err);
    d->steps->posted.staged.at[receive - x->receive] = own;
    return true;
}

static bool by_messages(Doing *d)
{
    const Exchange *x = &d->step->exchange;
    Dtype dtype = d->step->dtype;
    MpiPosted *posted = &d->steps->posted;
    char *send = room_for(&d->steps->send, dtype, elements_of(x->send, x->n_sends), d->err);
    char *receive =
        room_for(&d->steps->receive, dtype, elements_of(x->receive, x->n_receives), d->err);
    posted->requests.n = posted->staged.n = 0;
    for (int i = 0; i < x->n_receives; i++)
        vec_push(NULL, &posted->staged, NULL);
    bool ok =
        send && receive && post_receives(d, receive) && post_sends(d, &send) &&
        receive_own(d, &send) &&
        MPI_CALL(d->err, MPI_Waitall, posted->requests.n, posted->requests.at, MPI_STATUSES_IGNORE);
    for (int i = 0; ok && i < x->n_receives; i++)
        ok = !posted->staged.at[i] ||
             exchange_receive(x, &x->receive[i], posted->staged.at[i], d->target, d->err);
    return ok;
}

typedef bool MessageWay(Doing *d);

/* The algorithm; all ranks of a group choose the same one. */
static MessageWay *way_of(const MpiSteps *steps, const MpiStep *step)
{
    const Exchange *x = &step->exchange;
    bool reduces_all = x->roles.summed == x->collective.atoms;
    if (step->comm == MPI_COMM_NULL)
        return by_messages;
    if (step->row > 0)
        return ragged_all_to_all;
    if (step->kind == STEP_ALL_REDUCE && reduces_all)
        return all_reduce;
    bool moves = step->kind == STEP_ALL_GATHER || step->kind == STEP_ALL_TO_ALL;
    if (step->large || step->kind == STEP_PERMUTE || step->kind == STEP_HALO ||
        (moves && !step->direct))
        return by_messages;
    if (step->kind == STEP_ALL_GATHER && x->roles.own == 0)
        return all_gather;
    if (step->kind == STEP_REDUCE_SCATTER && reduces_all && !steps->in_order)
        return reduce_scatter;
    return all_to_all;
}

bool mpi_step_do(MpiSteps *steps, const MpiStep *step, const Local *source, Local *target,
                 Error *err)
{
    Doing doing = {steps, step, source, target, err};
    if (step->exchange.roles.summed && !dtype_is_computed(step->dtype))
        return error_kind(err, ERROR_RUN, "elements of type %s cannot be combined",
                          dtype_name(step->dtype));
    if (target && step->exchange.roles.pads)
        collective_clear(&step->exchange.roles, target);
    return way_of(steps, step)(&doing) &&
           (!target || exchange_finish(&step->exchange, target, err));
}

#include "core/run/mpi/ragged.h"

#include "core/run/kernel.h"

#include <inttypes.h>

int64_t mpi_ragged_row(const MpiSteps *steps, const Collective *collective, Dtype dtype, int n_dims)
{
    const Sharding *from = collective->from, *to = collective->to;
    int64_t row = 1;
    for (int64_t d = n_dims; d < from->n_dims; d++) {
        if (!cut_equal(&from->dim[d], &to->dim[d]))
            return 0;
        row *= cut_local_size(&from->dim[d], steps->mesh, steps->position);
    }
    int64_t most = sharding_most_elements(from, steps->mesh),
            taken = sharding_most_elements(to, steps->mesh);
    most = (most > taken ? most : taken) * (element_bytes(dtype) + 1);
    return n_dims == 0 || n_dims == from->n_dims || most > INT32_MAX ? 0 : row;
}

/* The messages of a rank, one after another by member. */
typedef struct {
    int *n, *at; /* bytes, and where they begin */
    char *data;
} Parcels;

static Parcels parcels_new(Arena *scratch, int n_members)
{
    int *n = arena_array(scratch, int, 2 * (int64_t)n_members);
    return (Parcels){.n = n, .at = n + n_members};
}

static int64_t lay_out(const Parcels *parcels, int n_members)
{
    int64_t all = 0;
    for (int m = 0; m < n_members; m++) {
        parcels->at[m] = (int)all;
        all += parcels->n[m];
    }
    return all;
}

static size_t bits_of(const Message *message, int64_t row)
{
    return (size_t)((message->piece.n_elements / row + 7) / 8);
}

static bool is_there(const char *row, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        if (row[i])
            return true;
    return false;
}

/* Writes the message at `to`; returns its bytes. */
static int64_t put_rows(const Message *message, const MpiStep *step, const Local *source,
                        Arena *scratch, char *to)
{
    size_t n_bytes = (size_t)(step->row * element_bytes(step->dtype));
    int64_t n_rows = message->piece.n_elements / step->row;
    char *all = arena_alloc(scratch, n_bytes * (size_t)n_rows + 1);
    char *next = to + bits_of(message, step->row);
    piece_pack(&message->piece, step->dtype, source->data, all);
    memset(to, 0, bits_of(message, step->row));
    for (int64_t r = 0; r < n_rows; r++) {
        const char *row = all + (size_t)r * n_bytes;
        if (!is_there(row, n_bytes))
            continue;
        to[r / 8] = (char)(to[r / 8] | 1 << r % 8);
        memcpy(next, row, n_bytes);
        next += n_bytes;
    }
    return next - to;
}

/* Returns false if the message, of n_given bytes, is not as long as its rows. */
static bool take_rows(const Message *message, const MpiStep *step, const char *from, int n_given,
                      Arena *scratch, Local *target, Error *err)
{
    size_t n_bytes = (size_t)(step->row * element_bytes(step->dtype));
    int64_t n_rows = message->piece.n_elements / step->row;
    char *all = arena_alloc(scratch, n_bytes * (size_t)n_rows + 1);
    const char *next = from + bits_of(message, step->row), *end = from + n_given;
    if ((size_t)n_given < bits_of(message, step->row))
        return error_kind(err, ERROR_RUN, "a message does not say which rows it has");
    memset(all, 0, n_bytes * (size_t)n_rows);
    for (int64_t r = 0; r < n_rows; r++) {
        if (!(from[r / 8] >> r % 8 & 1))
            continue;
        if ((size_t)(end - next) < n_bytes)
            return error_kind(err, ERROR_RUN, "a message lacks rows that it announces");
        memcpy(all + (size_t)r * n_bytes, next, n_bytes);
        next += n_bytes;
    }
    return exchange_receive(&step->exchange, message, all, target, err);
}

static void pack(MpiSteps *steps, const MpiStep *step, const Local *source, Arena *scratch,
                 Parcels *out)
{
    int64_t room = 1;
    for (int m = 0; m < step->n_members; m++)
        if (step->send.message[m])
            room += step->send.message[m]->piece.n_elements * element_bytes(step->dtype) +
                    (int64_t)bits_of(step->send.message[m], step->row);
    out->data = arena_alloc(scratch, (size_t)room);
    int64_t at = 0;
    for (int m = 0; m < step->n_members; m++) {
        const Message *message = step->send.message[m];
        out->at[m] = (int)at;
        if (message)
            out->n[m] = (int)put_rows(message, step, source, scratch, out->data + at);
        at += out->n[m];
        if (message && message->position != steps->position)
            steps->ragged_bytes += out->n[m];
    }
}

/* Whether what the others say of their parcels can be received. */
static bool check_sizes(const Parcels *parcels, int n_members, Error *err)
{
    int64_t n_all = 0;
    for (int m = 0; m < n_members; m++) {
        if (parcels->n[m] < 0)
            return error_kind(err, ERROR_RUN, "member %d of the group sends %d bytes", m,
                              parcels->n[m]);
        n_all += parcels->n[m];
    }
    return n_all <= INT32_MAX ||
           error_kind(err, ERROR_RUN, "%" PRId64 " bytes are more than MPI receives at once",
                      n_all);
}

bool mpi_ragged_all_to_all(MpiSteps *steps, const MpiStep *step, const Local *source, Local *target,
                           Error *err)
{
    Arena *scratch = arena_new();
    Parcels sent = parcels_new(scratch, step->n_members),
            got = parcels_new(scratch, step->n_members);
    pack(steps, step, source, scratch, &sent);
    bool ok = MPI_CALL(err, MPI_Alltoall, sent.n, 1, MPI_INT, got.n, 1, MPI_INT, step->comm) &&
              check_sizes(&got, step->n_members, err);
    if (ok) {
        got.data = arena_alloc(scratch, (size_t)lay_out(&got, step->n_members) + 1);
        ok = MPI_CALL(err, MPI_Alltoallv, sent.data, sent.n, sent.at, MPI_BYTE, got.data, got.n,
                      got.at, MPI_BYTE, step->comm);
    }
    for (int m = 0; ok && m < step->n_members; m++)
        ok = !step->receive.message[m] ||
             take_rows(step->receive.message[m], step, got.data + got.at[m], got.n[m], scratch,
                       target, err);
    arena_free(scratch);
    return ok;
}

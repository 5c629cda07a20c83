/* halo_by_hand.h - a halo exchange as one writes it by hand with MPI_Isend and MPI_Irecv.
 *
 * Ranks are a grid, row-major, each with a block of a matrix of floats. Each block gets a border of
 * its neighbours' edges, corners included; the grid's own border gets none. An edge that is
 * contiguous is sent and received in place, any other is packed. */
#ifndef TESTS_MPI_HALO_BY_HAND_H
#define TESTS_MPI_HALO_BY_HAND_H

#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    MPI_Comm comm;
    int me, grid[2]; /* rows and columns of ranks */
    int part[2];     /* rows and columns of a block */
    int halo[2];     /* width of the border in each dim */
    float *from, *to;
    float *packed; /* room for two blocks */
} HaloByHand;

typedef struct {
    float *at; /* the first element */
    int rows, columns, stride;
} EdgeByHand;

static inline void edge_copy(EdgeByHand to, EdgeByHand from)
{
    for (int r = 0; r < from.rows; r++)
        memcpy(to.at + r * to.stride, from.at + r * from.stride,
               (size_t)from.columns * sizeof(float));
}

/* What of `from` the neighbour `step` away reads, or where in `to` its elements go; a dim without
 * a step: all of it. */
static inline EdgeByHand edge_towards(const HaloByHand *h, const int step[2], bool received)
{
    int at[2], n[2], before[2];
    for (int d = 0; d < 2; d++) {
        int coord = d == 0 ? h->me / h->grid[1] : h->me % h->grid[1];
        before[d] = coord > 0 ? h->halo[d] : 0;
        n[d] = step[d] ? h->halo[d] : h->part[d];
        at[d] = step[d] <= 0 ? 0 : h->part[d] - (received ? 0 : n[d]);
        at[d] += received ? (step[d] < 0 ? 0 : before[d]) : 0;
    }
    int after = h->me % h->grid[1] < h->grid[1] - 1 ? h->halo[1] : 0;
    int stride = received ? before[1] + h->part[1] + after : h->part[1];
    float *base = received ? h->to : h->from;
    return (EdgeByHand){base + at[0] * stride + at[1], n[0], n[1], stride};
}

typedef struct {
    EdgeByHand edge;
    float *data; /* that MPI fills: the edge, or what is unpacked into it */
} Coming;

static inline float *edge_buffer(EdgeByHand edge, float **room)
{
    float *at = *room;
    if (edge.columns == edge.stride)
        return edge.at;
    *room += edge.rows * edge.columns;
    return at;
}

static inline void halo_by_hand(const HaloByHand *h)
{
    enum { AROUND = 8 };
    MPI_Request request[2 * AROUND];
    Coming coming[AROUND];
    float *room = h->packed;
    int n = 0, n_coming = 0, row = h->me / h->grid[1], column = h->me % h->grid[1];
    for (int i = 0; i < 9; i++) {
        const int step[2] = {i / 3 - 1, i % 3 - 1}, to_row = row + step[0],
                  to_column = column + step[1];
        if (i == 4 || to_row < 0 || to_row >= h->grid[0] || to_column < 0 ||
            to_column >= h->grid[1])
            continue;
        int other = to_row * h->grid[1] + to_column;
        EdgeByHand in = edge_towards(h, step, true), out = edge_towards(h, step, false);
        int size = in.rows * in.columns;
        Coming *c = &coming[n_coming++];
        *c = (Coming){in, edge_buffer(in, &room)};
        MPI_Irecv(c->data, size, MPI_FLOAT, other, 0, h->comm, &request[n++]);
        float *data = edge_buffer(out, &room);
        if (data != out.at)
            edge_copy((EdgeByHand){data, out.rows, out.columns, out.columns}, out);
        MPI_Isend(data, size, MPI_FLOAT, other, 0, h->comm, &request[n++]);
    }
    edge_copy(edge_towards(h, (int[2]){0, 0}, true), edge_towards(h, (int[2]){0, 0}, false));
    MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n_coming; i++)
        if (coming[i].data != coming[i].edge.at)
            edge_copy(coming[i].edge, (EdgeByHand){coming[i].data, coming[i].edge.rows,
                                                   coming[i].edge.columns, coming[i].edge.columns});
}

#endif

/* broken.c - an MPI whose exchanges of rows that a router sends, those in bytes, go wrong once: in
 * the BROKEN_CALL-th one the last rank gets rows of BROKEN_FLOATS floats from the first that are
 * broken in the BROKEN_WAY-th of ten ways, or that stand at another place. Loaded before Open MPI.
 */
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { N_WAYS = 10 };

static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

static int largest(const float *x, int n)
{
    int most = 0;
    for (int i = 1; i < n; i++)
        most = fabsf(x[i]) > fabsf(x[most]) ? i : most;
    return most;
}

static float rounded(float x)
{
    int exponent;
    float fraction = frexpf(x, &exponent);
    return ldexpf(rintf(fraction * 16) / 16, exponent);
}

static void swap(float *a, float *b)
{
    float x = *a;
    *a = *b;
    *b = x;
}

static void break_rows(float *x, int n, int way)
{
    int at = largest(x, n);
    switch (way) {
    case 0: /* one element */
        x[at] = x[at] * 1.25f + 0.25f;
        break;
    case 1:
        x[at] = NAN;
        break;
    case 2: /* stale */
        for (int i = 0; i < n; i++)
            x[i] = 0;
        break;
    case 3: /* a doubled addend */
        for (int i = 0; i < n; i++)
            x[i] *= 2;
        break;
    case 4: /* a lost addend */
        x[at] = 0;
        break;
    case 5: /* off by one */
        for (int i = n - 1; i > 0; i--)
            x[i] = x[i - 1];
        break;
    case 6: /* transposed */
        swap(&x[at], &x[at > 0 ? at - 1 : n - 1]);
        break;
    case 7:
        x[at] = -x[at];
        break;
    case 8:
        for (int i = 0; i < n; i++)
            x[i] = rounded(x[i]);
        break;
    case 9: /* another rank's part */
        for (int i = 0; i < n / 2; i++)
            swap(&x[i], &x[n - 1 - i]);
        break;
    }
}

/* The first row that is there takes the place of the first that is not. */
static void move_row(unsigned char *bits, int n_bytes)
{
    int there = 0, missing = 0;
    while (there < 8 * n_bytes && !(bits[there / 8] >> there % 8 & 1))
        there++;
    while (missing < 8 * n_bytes && bits[missing / 8] >> missing % 8 & 1)
        missing++;
    if (there == 8 * n_bytes || missing == 8 * n_bytes)
        return;
    bits[there / 8] ^= (unsigned char)(1 << there % 8);
    bits[missing / 8] ^= (unsigned char)(1 << missing % 8);
}

/* Bits for the rows that are there, then these. */
static void break_message(char *message, int n_bytes)
{
    int row = number("BROKEN_FLOATS") * (int)sizeof(float), way = number("BROKEN_WAY");
    int n_bits = n_bytes % row, n = (n_bytes - n_bits) / (int)sizeof(float);
    float *rows = malloc((size_t)(n_bytes - n_bits) + 1);
    memcpy(rows, message + n_bits, (size_t)(n_bytes - n_bits));
    if (way == N_WAYS)
        move_row((unsigned char *)message, n_bits);
    else if (n > 0)
        break_rows(rows, n, way);
    memcpy(message + n_bits, rows, (size_t)(n_bytes - n_bits));
    free(rows);
}

int MPI_Alltoallv(const void *sent, const int *n_sent, const int *sent_at, MPI_Datatype sent_type,
                  void *got, const int *n_got, const int *got_at, MPI_Datatype got_type,
                  MPI_Comm comm)
{
    static int calls;
    int rank, n_ranks;
    int status =
        PMPI_Alltoallv(sent, n_sent, sent_at, sent_type, got, n_got, got_at, got_type, comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    if (got_type == MPI_BYTE && rank == n_ranks - 1 && calls++ == number("BROKEN_CALL"))
        break_message((char *)got + got_at[0], n_got[0]);
    return status;
}

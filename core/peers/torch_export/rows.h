/* rows.h - operators of torch, one row each: their schema, and the ops that a call becomes.
 *
 *     {"add add_", "self other alpha=1", "Add(self, scaled(other, alpha))", NULL},
 *
 * Names are aten's, without the library; "min.other" is one overload and comes before "min", which
 * stands for all others. A schema lists the arguments in torch's order with their defaults;
 * tests/differential/part_torch_export.py checks them against real torch. A recipe is one
 * expression per result, separated by '|':
 *
 *     expr    = number | argument | function "(" .. ")"
 *             | Operator [ "#" results ] "(" [ expr {"," expr} ] [ ";" attrs ] ")"
 *     attrs   = name "=" value {"," name "=" value}
 *     value   = number | 'text' | argument | "~" argument
 *
 * An argument that is a list of tensors stands for all of them; `~` makes a float from a number; an
 * attribute whose argument is not given is left out. Functions:
 *
 *     cast(x, dtype)        x of that type; the type is an argument, or "f32"; itself without one
 *     float(x) whole(x)     of f32 if it is no float; of i64 if it is bool or a shorter integer
 *     like(x, y)            of the type of y
 *     scaled(x, factor)     x times a number; x if that is 1
 *     ints(dim) ints(1, 2)  a constant i64[n] of a list, or of one number; absent without it
 *     scalar(dim)           a constant i64 of a number
 *     sizes(size)           a shape, i64[n], of known and symbolic sizes
 *     size(x, dim)          the size of a dim, i64[1]
 *     filled(x, value)      as x, with one value in it
 *     given(a, x, y)        x if the argument a is given, else y; yes(a, x, y): if it is true
 *     pick(1, x)            the second result of an operator
 *     reduced(x)            as the argument `reduction` says: x, its mean, its sum
 *
 * A row with a function instead of a recipe is for calls that need more.
 */
#ifndef CORE_PEERS_TORCH_EXPORT_ROWS_H
#define CORE_PEERS_TORCH_EXPORT_ROWS_H

#include "core/peers/torch_export/exporting.h"

typedef struct TorchRow {
    const char *names;  /* separated by blanks */
    const char *schema; /* as call_bind() reads it */
    const char *recipe; /* "" drops the call; NULL: `make` makes the ops */
    void (*make)(Call *c);
} TorchRow;

/* The row of an operator; NULL if it has none. */
const TorchRow *torch_row(Str op, Str overload);
/* The rows one after another, for tests and listings; NULL at the end. */
const TorchRow *torch_row_at(int i);

/* Makes the ops of the call, and sets their results as the node's outputs. */
void torch_row_apply(Call *c, const TorchRow *row);
/* Evaluates a recipe; returns how many results there are. */
int recipe_run(Call *c, const char *recipe, ExportTerm *out, int most);

/* Tables, ended by a row without names. */
extern const TorchRow rows_pointwise[], rows_reduce[], rows_shape[], rows_make[], rows_index[],
    rows_layer[], rows_backward[], rows_recurrent[], rows_resample[], rows_complex[], rows_window[],
    rows_matrix[], rows_order[], rows_special[], rows_join[], rows_random[];

#endif

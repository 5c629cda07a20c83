/* shardy_text.h - meshes, shardings and ops of Shardy from short texts, and shardings as text. */
#ifndef TESTS_UNIT_SHARDY_TEXT_H
#define TESTS_UNIT_SHARDY_TEXT_H

#include "tests/unit/planning.h"

#include "core/peers/shardy/flow.h"
#include "core/peers/shardy/tables.h"

#include <string.h>

/* Rules of ops on two operands of 8 by 8. */
#define DOT "([i, k], [k, j])->([i, j]) {i=8, j=8, k=8} reduction={k}"
#define ADD "([i, j], [i, j])->([i, j]) {i=8, j=8}"

static inline Mesh *mesh_of(Arena *arena, const char *text)
{
    Error err = {0};
    Source source = {.name = "mesh", .text = str_from(text)};
    Mesh *mesh = mesh_parse(arena, &source, &err);
    if (!mesh)
        planning_fail(&err);
    return mesh;
}

static inline AxisRef ref_of(const Mesh *mesh, Str text)
{
    AxisRef ref;
    Error err = {0};
    if (!axis_ref_parse(mesh, text, &ref, &err))
        planning_fail(&err);
    return ref;
}

/* ---- shardings and ops from text ---- */

/* "x.y?,-,z !a +b ^1,0": per dim its axes and `?` where it is open; replicated, unreduced,
 * priorities. */
static inline TensorSharding sharding_of(const Mesh *mesh, Str text)
{
    TensorSharding sharding = {.mesh = 0};
    Str rest = text, dims = str_take(&rest, ' ');
    while (dims.n > 0) {
        Str axes = str_take(&dims, ',');
        DimSharding *dim = &sharding.dim[sharding.n_dims++];
        *dim = (DimSharding){.priority = PRIORITY_NONE};
        if (str_ends(axes, STR("?"))) {
            dim->open = true;
            axes.n--;
        }
        while (axes.n > 0 && !str_eq(axes, STR("-")))
            axis_list_add(&dim->axes, ref_of(mesh, str_take(&axes, '.')));
    }
    while (rest.n > 0) {
        Str mark = str_take(&rest, ' ');
        Str list = {mark.s + 1, mark.n - 1};
        for (int d = 0; list.n > 0; d++) {
            Str item = str_take(&list, ',');
            if (mark.s[0] == '^')
                sharding.dim[d].priority = item.s[0] - '0';
            else
                axis_list_add(mark.s[0] == '!' ? &sharding.replicated : &sharding.unreduced,
                              ref_of(mesh, item));
        }
    }
    return sharding;
}

static inline void put_sharding(const Mesh *mesh, const TensorSharding *sharding, Buf *out)
{
    for (int d = 0; d < sharding->n_dims; d++) {
        const DimSharding *dim = &sharding->dim[d];
        buf_puts(out, d > 0 ? "," : "");
        for (int i = 0; i < dim->axes.n; i++) {
            buf_puts(out, i > 0 ? "." : "");
            axis_ref_format(mesh, &dim->axes.at[i], out);
        }
        buf_puts(out, dim->axes.n > 0 || dim->open ? "" : "-");
        buf_puts(out, dim->open ? "?" : "");
    }
}

enum { TENSORS_MAX = 6 };

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    const FactorRule *rule;
    int n;
    TensorSharding sharding[TENSORS_MAX], *at[TENSORS_MAX];
} OneOpCase;

static inline const FactorRule *rule_of(Arena *arena, const char *text)
{
    Error err = {0};
    Source source = {.name = "rule", .text = str_from(text)};
    const FactorRule *rule = factor_rule_read(arena, &source, &err);
    if (!rule)
        planning_fail(&err);
    return rule;
}

static inline OneOpCase case_of(const char *mesh, const char *rule, const char *shardings)
{
    OneOpCase c = {.arena = arena_new()};
    c.mesh = mesh_of(c.arena, mesh);
    c.rule = rule_of(c.arena, rule);
    Str rest = str_from(shardings);
    while (rest.n > 0) {
        c.sharding[c.n] = sharding_of(c.mesh, str_trim(str_take(&rest, '|')));
        assert_int_equal(c.sharding[c.n].n_dims, c.rule->tensor[c.n].n_dims);
        c.n++;
    }
    assert_int_equal(c.n, c.rule->n_operands + c.rule->n_results);
    return c;
}

#endif

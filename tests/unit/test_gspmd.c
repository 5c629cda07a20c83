/* Shardings as HLO prints them. Expected texts are JAX 0.10.2's, of NamedSharding. */
#include "tests/unit/unit.h"

#include "core/layout/gspmd.h"

typedef struct {
    const char *name, *mesh, *sharding;
    const char *text; /* NULL: tiles cannot say it */
    Shape shape;
} GspmdRow;

static GspmdRow rows[] = {
    {"two axes", "dp=2,tp=4", "8/dp,8,8/tp", "{devices=[2,1,4]<=[8]}", {3, {8, 8, 8}}},
    {"replicated", "dp=2,tp=4", "8,8,8", "{replicated}", {3, {8, 8, 8}}},
    {"replicas at the end",
     "dp=2,tp=4",
     "8/dp,8,8",
     "{devices=[2,1,1,4]<=[8] last_tile_dim_replicate}",
     {3, {8, 8, 8}}},
    {"turned",
     "dp=2,tp=4",
     "8,8/tp,8",
     "{devices=[1,4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
     {3, {8, 8, 8}}},
    {"no replicas, turned", "dp=2,tp=4", "8/tp,8/dp", "{devices=[4,2]<=[2,4]T(1,0)}", {2, {8, 8}}},
    {"one dim by both", "dp=2,tp=4", "8/dp.tp,8", "{devices=[8,1]<=[8]}", {2, {8, 8}}},
    {"against mesh order", "dp=2,tp=4", "8/tp.dp,8", "{devices=[8,1]<=[2,4]T(1,0)}", {2, {8, 8}}},
    {"three axes, two of them neighbours",
     "a=2,b=3,c=4",
     "8/c,8/a",
     "{devices=[4,2,3]<=[6,4]T(1,0) last_tile_dim_replicate}",
     {2, {8, 8}}},
    {"the middle one",
     "a=2,b=3,c=4",
     "9/b,8",
     "{devices=[3,1,8]<=[2,3,4]T(1,0,2) last_tile_dim_replicate}",
     {2, {9, 8}}},
    {"an axis of size 1",
     "a=2,b=1,c=4",
     "8,8/c",
     "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
     {2, {8, 8}}},
    {"three, all turned",
     "a=2,b=2,c=6",
     "12/c,8/b",
     "{devices=[6,2,2]<=[2,2,6]T(2,1,0) last_tile_dim_replicate}",
     {2, {12, 8}}},
    {"a sum is due",
     "dp=2,tp=4",
     "8/dp,8 +tp",
     "{devices=[2,1,4]<=[8] last_tile_dims={unreduced}}",
     {2, {8, 8}}},
    {"a sum, and replicas",
     "dp=2,tp=4",
     "8,8 +tp",
     "{devices=[1,1,4,2]<=[2,4]T(1,0) last_tile_dims={unreduced, replicated}}",
     {2, {8, 8}}},
    {"a sum over the last axis",
     "a=2,b=3,c=4",
     "9/b,8 +c",
     "{devices=[3,1,4,2]<=[2,12]T(1,0) last_tile_dims={unreduced, replicated}}",
     {2, {9, 8}}},
    {"a sum over two",
     "a=2,b=3,c=4",
     "8/c,8 +a.b",
     "{devices=[4,1,6]<=[6,4]T(1,0) last_tile_dims={unreduced}}",
     {2, {8, 8}}},
    {"a sum over all", "dp=2,tp=4", "8,8 +dp.tp", "{unreduced}", {2, {8, 8}}},
    {"a scalar", "dp=2,tp=4", "scalar", "{replicated}", {0, {0}}},
    {"a scalar's sum",
     "dp=2,tp=4",
     "scalar +tp",
     "{devices=[4,2]<=[2,4]T(1,0) last_tile_dims={unreduced, replicated}}",
     {0, {0}}},
    {"one device", "x=1", "8", "{replicated}", {1, {8}}},
    {"uneven by one axis", "x=4", "10/x", "{devices=[4]<=[4]}", {1, {10}}},
    {"uneven by two", "x=2,y=2", "10/x.y", NULL, {1, {10}}},
    {"blocks", "tp=4", "(3)(768/tp)", NULL, {1, {2304}}},
    {"a maximum", "tp=4", "8 max(tp)", NULL, {1, {8}}},
};

static void prints(void **state)
{
    const GspmdRow *row = *state;
    Arena *arena = arena_new();
    Source mesh_text = {.name = "--mesh", .text = str_from(row->mesh)};
    Source text = {.name = "sharding", .text = str_from(row->sharding)};
    const Mesh *mesh = mesh_parse(arena, &mesh_text, NULL);
    Sharding sharding;
    Error err = {0};
    Buf out = buf_new(arena);

    assert_non_null(mesh);
    if (!sharding_parse(&text, &row->shape, mesh, VIEW_OURS, &sharding, &err))
        fail_msg("%s", err.text);
    assert_true(gspmd_format(&sharding, mesh, &out, &err) == (row->text != NULL));
    if (row->text)
        assert_string_equal(out.s, row->text);
    else
        assert_int_equal(out.n, 0);
    assert_true(error_is_set(&err) == !row->text);
    arena_free(arena);
}

int main(void)
{
    return run_rows("gspmd", rows, prints);
}

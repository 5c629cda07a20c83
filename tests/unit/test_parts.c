/* Dims in parts: Split, Slice and Concat hand a cut that keeps the parts apart from the whole to
 * the parts and back, with no reshard, and ranks compute what one device does. */
#include "tests/unit/planning_text.h"

#include "core/explain/why_not.h"

#include <string.h>

#define SPLIT "q k v <- Split x i64[3]{64,32,32} axis=1; a <- Neg q; b <- Neg k; c <- Neg v"
#define SLICES                                                                                     \
    "q <- Slice x i64[1]{0} i64[1]{64} i64[1]{1}; k <- Slice x i64[1]{64} i64[1]{96} i64[1]{1}; "  \
    "v <- Slice x i64[1]{96} i64[1]{128} i64[1]{-1}; a <- Neg q; b <- Neg k; c <- Neg v"
#define CONCAT                                                                                     \
    "q <- Neg f32[4,64]; k <- Neg f32[4,32]; v <- Neg f32[4,32]; "                                 \
    "x <- Concat q k v axis=1; y <- Neg x"

static PlanRow rows[] = {
    {"Split, to the parts", "x <- MatMul f32[4,8] f32[8,128]!; " SPLIT, "tp=2", "x 4,(64|32|32)/tp",
     "q 4,64/tp; k 4,32/tp; v 4,32/tp; a 4,64/tp", ""},
    {"Split, back from the parts", "x <- MatMul f32[4,8] f32[8,128]!; " SPLIT, "tp=2",
     "a 4,64/tp; b 4,32/tp; c 4,32/tp", "x 4,(64|32|32)/tp; q 4,64/tp", ""},
    {"Split, one part alone", "x <- MatMul f32[4,8] f32[8,128]!; " SPLIT, "tp=2", "a 4,64/tp",
     "x 4,128; k 4,32", ""},
    {"Split, by two axes", "x <- Neg f32[4,128]; " SPLIT, "dp=2,tp=2", "x 4,(64|32|32)/dp.tp",
     "q 4,64/dp.tp; v 4,32/dp.tp", ""},
    {"Split, by a part of an axis", "x <- Neg f32[4,128]; " SPLIT, "tp=4", "x 4,(64|32|32)/tp:(1)2",
     "q 4,64/tp:(1)2; v 4,32/tp:(1)2", ""},
    {"Split, rows sharded by another axis", "x <- Neg f32[4,128]; " SPLIT, "dp=2,tp=2",
     "x 4/dp,(64|32|32)/tp", "q 4/dp,64/tp; c 4/dp,32/tp", ""},
    {"Split, uneven parts",
     "x <- Neg f32[4,15]; q k v <- Split x i64[3]{7,5,3} axis=1; a <- Neg q; b <- Neg k; c <- Neg "
     "v",
     "tp=2", "x 4,(7|5|3)/tp", "a 4,7/tp; b 4,5/tp; c 4,3/tp", ""},
    {"Split across the parts", "x <- Neg f32[4,128]; " SPLIT, "tp=4", "x 4,128/tp",
     "q 4,64; k 4,32", "all_gather tp 1 x 2048"},
    {"Split of other parts", "x <- Neg f32[4,128]; " SPLIT, "tp=2", "x 4,(32|96)/tp",
     "q 4,64; k 4,32", "all_gather tp 1 x 2048"},
    {"Slice, to the parts", "x <- MatMul f32[4,8] f32[8,128]!; " SLICES, "tp=2",
     "x 4,(64|32|32)/tp", "q 4,64/tp; k 4,32/tp; v 4,32/tp; a 4,64/tp", ""},
    {"Slices, back from the parts", "x <- MatMul f32[4,8] f32[8,128]!; " SLICES, "tp=2",
     "a 4,64/tp; b 4,32/tp; c 4,32/tp", "x 4,(64|32|32)/tp; q 4,64/tp", ""},
    {"Slices, one part alone", "x <- MatMul f32[4,8] f32[8,128]!; " SLICES, "tp=2", "a 4,64/tp",
     "x 4,128; k 4,32", ""},
    {"Slices of equal parts, one part alone",
     "x <- MatMul f32[4,8] f32[8,96]!; q <- Slice x i64[1]{0} i64[1]{48} i64[1]{1}; "
     "k <- Slice x i64[1]{48} i64[1]{96} i64[1]{1}; a <- Neg q; b <- Neg k",
     "tp=2", "a 4,48/tp", "x 4,(2)(48/tp); b 4,48/tp", ""},
    {"Slices that leave a part out",
     "x <- MatMul f32[4,8] f32[8,128]!; "
     "q <- Slice x i64[1]{0} i64[1]{64} i64[1]{1}; k <- Slice x i64[1]{64} i64[1]{96} i64[1]{1}; "
     "a <- Neg q; b <- Neg k",
     "tp=2", "a 4,64/tp; b 4,32/tp", "x 4,128", ""},
    {"Slice of two parts", "x <- Neg f32[4,128]; y <- Slice x i64[1]{64} i64[1]{128} i64[1]{1}",
     "tp=2", "x 4,(64|32|32)/tp", "y 4,(2)(32/tp)", ""},
    {"Slice of equal parts", "x <- Neg f32[4,96]; y <- Slice x i64[1]{32} i64[1]{64} i64[1]{1}",
     "tp=2", "x 4,(3)(32/tp)", "y 4,32/tp", ""},
    {"Slice across a part", "x <- Neg f32[4,128]; y <- Slice x i64[1]{0} i64[1]{80} i64[1]{1}",
     "tp=2", "x 4,(64|32|32)/tp", "y 4,80", "all_gather tp 1 x 2048"},
    {"Slice of every other element",
     "x <- Neg f32[4,128]; y <- Slice x i64[1]{0} i64[1]{64} i64[1]{1} i64[1]{2}", "tp=2",
     "x 4,(64|64)/tp", "y 4,32", "all_gather tp 1 x 2048"},
    {"Slice, sharded by another axis",
     "x <- Neg f32[4,128]; y <- Slice x i64[1]{0} i64[1]{64} i64[1]{1}", "dp=2,tp=2",
     "x 4,(64|64)/tp; y 4,64/dp", "y 4,64/dp", "all_gather tp 1 x 1024"},
    {"Concat, from the parts", CONCAT, "tp=2", "q 4,64/tp; k 4,32/tp; v 4,32/tp",
     "x 4,(64|32|32)/tp; y 4,(64|32|32)/tp", ""},
    {"Concat, to the parts", CONCAT, "tp=2", "y 4,(64|32|32)/tp",
     "x 4,(64|32|32)/tp; q 4,64/tp; v 4,32/tp", ""},
    {"Concat, one part alone", CONCAT, "tp=2", "q 4,64/tp", "x 4,128", "all_gather tp 1 x 1024"},
    {"Concat across the parts", CONCAT, "tp=4", "y 4,128/tp", "q 4,64", ""},
    {"Concat of weights",
     "w <- Concat f32[8,64]! f32[8,32]! f32[8,32]! axis=1; x <- MatMul f32[4,8] w; " SPLIT, "tp=2",
     "x 4,(64|32|32)/tp", "w 8,(64|32|32)/tp; v 4,32/tp", ""},
    {"from parts to parts", CONCAT "; d e f <- Split y i64[3]{64,32,32} axis=1", "tp=2",
     "q 4,64/tp; k 4,32/tp; v 4,32/tp", "d 4,64/tp; e 4,32/tp; f 4,32/tp", ""},
};

/* ---- what is said ---- */

static void a_split_across_its_parts_names_them(void **state)
{
    (void)state;
    Planning *p = planning_row(
        &(PlanRow){.net = "x <- Neg f32[4,128]; " SPLIT, .mesh = "tp=4", .pin = "x 4,128/tp"});
    bool found = false;
    for (int i = 0; i < p->plan->findings.n; i++)
        found |=
            strstr(p->plan->findings.at[i].text, "holds parts of 64, 32, 32 for Split") != NULL;
    assert_true(found);
    Buf text = buf_new(p->arena);
    why_not_format(p->plan, naming_find(p->naming, STR("q"), NULL), 1, 0, &text);
    if (!strstr(text.s, "it is parts of 64, 32, 32, and sharding it by tp=4 splits across them"))
        fail_msg("%s", text.s);
    planning_close(p);
}

static void a_part_alone_says_that_the_others_are_whole(void **state)
{
    (void)state;
    Planning *p = planning_row(&(PlanRow){.net = CONCAT, .mesh = "tp=2", .pin = "q 4,64/tp"});
    Buf text = buf_new(p->arena);
    why_not_format(p->plan, naming_find(p->naming, STR("x"), NULL), 1, 0, &text);
    if (!strstr(text.s, "the other parts along n are not sharded by that axis"))
        fail_msg("%s", text.s);
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_across_its_parts_names_them),
        cmocka_unit_test(a_part_alone_says_that_the_others_are_whole),
    };
    return run_rows("parts", rows, planning_row_runs) +
           cmocka_run_group_tests_name("said", tests, NULL, NULL);
}

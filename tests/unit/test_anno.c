#include "tests/unit/unit.h"

#include "core/space/anno_partition.h"

#include <inttypes.h>
#include <string.h>

/* ---- reading and printing ---- */

typedef struct {
    const char *name, *text;
    const char *want; /* canonical text and the cuts allowed, or the error */
} ParseRow;

static ParseRow parse_rows[] = {
    {"matmul", "m k+,k+ n->m n", "m k+, k+ n -> m n | 0.0 0.1 1.1"},
    {"frozen", "a^ b -> a^ b", "a^ b -> a^ b | 0.1"},
    {"numbers are frozen", "a 3 b+ -> a 3", "a 3^ b+ -> a 3^ | 0.0 0.2"},
    {"leading zeros", "a (b 03) 00 -> a", "a (b 3^) 0^ -> a | 0.0 0.1"},
    {"number with a suffix", "a 3+ -> a", "a 3^ -> a | 0.0"},
    {"minor ones freeze everywhere", "a b, (b n) c -> a (n c)",
     "a b, (b n^) c^ -> a (n^ c^) | 0.0 0.1"},
    {"ones lead nothing", "(1 1 h) d -> h d", "(1^ 1^ h) d -> h d | 0.0 0.1"},
    {"other numbers lead", "(2 a) b -> a b", "(2^ a^) b -> a^ b | 0.1"},
    {"brackets separate", "a(b c)d -> a", "a (b c^) d -> a | 0.0 0.1 0.2"},
    {"bracket of one", "(a) (*) -> a", "a * -> a | 0.0 0.1"},
    {"bracket of none", "a () -> ( )", "a ->  | 0.0"},
    {"tabs and newlines separate", "a\tb,\n c -> a", "a b, c -> a | 0.0 0.1 1.0"},
    {"ignored", "a, ? -> ?", "a, ?^ -> ?^ | 0.0"},
    {"no inputs", "-> 2 a", " -> 2^ a | "},
    {"no outputs", "a ->", "a ->  | 0.0"},
    {"empty tensor", "a, -> a", "a,  -> a | 0.0"},
    {"once per identifier", "l l, l m -> m", "l l, l m -> m | 0.0 1.1"},
    {"meta", "a : /m /n /m, b: / -> a", "a : /m /n, b : / -> a | 0.0 1.0"},
    {"empty meta", "a : -> a", "a -> a | 0.0"},
    {"slash", "a, / -> a", "a, ?^ : / -> a | 0.0"},
    {"other alphabets", "ä x_1 -> ä", "ä x_1 -> ä | 0.0 0.1"},
    {"no arrow", "a b", "x:1:1 syntax: an annotation has inputs '->' outputs: 'a b'"},
    {"two arrows", "a -> b -> c", "x:1:8 syntax: an annotation has one arrow: '->'"},
    {"nested", "a ((b) c) -> a", "x:1:4 syntax: a bracket in a bracket: '('"},
    {"not closed", "a (b, c -> a", "x:1:3 syntax: a bracket that is not closed: '('"},
    {"not opened", "a b) -> a", "x:1:4 syntax: a bracket that was not opened: ')'"},
    {"no identifier", "a a-b -> a",
     "x:1:3 syntax: expected an identifier, a number, '*' or '?': 'a-b'"},
    {"two suffixes on one", "a^+ -> a",
     "x:1:1 syntax: expected an identifier, a number, '*' or '?': 'a^+'"},
    {"only a suffix", "a + -> a",
     "x:1:3 syntax: expected an identifier, a number, '*' or '?': '+'"},
    {"number and letters", "2a -> a",
     "x:1:1 syntax: neither an identifier nor a number in range: '2a'"},
    {"too large", "a 9999999999999999999 -> a",
     "x:1:3 syntax: neither an identifier nor a number in range: '9999999999999999999'"},
    {"star in a bracket", "(a *^) -> a",
     "x:1:1 syntax: '*' and '?' stand for whole dims, not in a bracket: '('"},
    {"long bracket", "(a b c d e f g h i) -> a",
     "x:1:18 syntax: a bracket has at most 8 members: 'i'"},
    {"slash among dims", "a / -> a",
     "x:1:3 syntax: expected an identifier, a number, '*' or '?': '/'"},
    {"meta without slash", "a : m -> a", "x:1:5 syntax: expected '/' or '/identifier': 'm'"},
    {"second colon", "a : /m : /n -> a", "x:1:8 syntax: expected '/' or '/identifier': ':'"},
    {"suffixes differ", "a b+, b -> a",
     "x:1:7 inconsistent_reduce: 'b' has two suffixes in one annotation"},
    {"suffixes of an output differ", "a^ -> a",
     "x:1:7 inconsistent_reduce: 'a' has two suffixes in one annotation"},
};

static const char *error_text(Arena *arena, const Error *err)
{
    if (err->line > 0)
        return arena_printf(arena, "%s:%d:%d %s: %s", err->file, err->line, err->column,
                            error_kind_name(err->kind), err->text);
    return arena_printf(arena, "%s: %s", error_kind_name(err->kind), err->text);
}

static const char *parse_text(Arena *arena, Str text)
{
    Source source = {"x", text};
    Error err = {0};
    const Anno *anno = anno_parse(arena, &source, &err);
    if (!anno)
        return error_text(arena, &err);
    Buf out = buf_new(arena);
    anno_format(anno, &out);
    buf_puts(&out, " | ");
    AnnoPlace *place;
    int n = anno_space(arena, anno, &place);
    for (int i = 0; i < n; i++)
        buf_printf(&out, i > 0 ? " %d.%d" : "%d.%d", place[i].input, place[i].dim);
    return out.s;
}

static void reads_and_prints(void **state)
{
    const ParseRow *row = *state;
    Arena *arena = arena_new();
    assert_string_equal(parse_text(arena, str_from(row->text)), row->want);
    arena_free(arena);
}

static void canonical_text_reads_back_to_itself(void **state)
{
    const ParseRow *row = *state;
    Arena *arena = arena_new();
    const char *end = strstr(row->want, " | ");
    if (end)
        assert_string_equal(parse_text(arena, (Str){row->want, (size_t)(end - row->want)}),
                            row->want);
    arena_free(arena);
}

static void what_was_written_is_kept_beside_what_is_frozen(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    const Anno *anno = anno_parse(arena, &(Source){"x", STR("a (b n+), n+ c^ -> a b")}, &err);
    const AnnoAtom *n = &anno->tensor[1].dim[0].atom[0], *c = &anno->tensor[1].dim[1].atom[0];
    assert_int_equal(n->kind, ATOM_FROZEN);
    assert_int_equal(n->written, ATOM_SUM);
    assert_int_equal(c->kind, ATOM_FROZEN);
    assert_int_equal(c->written, ATOM_FROZEN);
    arena_free(arena);
}

static void one_tensor_is_read_by_itself(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    AnnoTensor tensor;
    assert_true(anno_parse_tensor(arena, &(Source){"x", STR("l (h d) : / /n")}, &tensor, &err));
    Buf out = buf_new(arena);
    anno_format_tensor(&tensor, &out);
    assert_string_equal(out.s, "l (h d) : / /n");
    assert_false(anno_parse_tensor(arena, &(Source){"x", STR("a, b")}, &tensor, &err));
    arena_free(arena);
}

/* ---- matching ---- */

/* A request: annotations between '|', inputs as "4,8; 8,6; -" ('-' is no tensor), arguments
 * "k=4 n=x" (x: not an integer). */
typedef struct {
    const char *name, *annos, *inputs, *args;
    const char *want; /* "anno => outputs", or the error */
} MatchRow;

static MatchRow match_rows[] = {
    {"matmul", "m k+, k+ n -> m n", "4,8; 8,6", "", "m k+, k+ n -> m n => 4,6"},
    {"star", "* k+, n k+ -> * n", "2,3,8; 16,8", "", "a b k+, n k+ -> a b n => 2,3,16"},
    {"star avoids names", "* a, a c -> * c", "4,5,6; 6,7", "", "b d a, a c -> b d c => 4,5,7"},
    {"star of none", "* a -> *", "5", "", "a ->  => scalar"},
    {"star keeps its suffix", "*^ k -> *^ k", "2,3", "", "a^ k -> a^ k => 2,3"},
    {"star in two inputs", "*, * -> *", "2,3; 2,3", "", "a b, a b -> a b => 2,3"},
    {"bracket of a known", "a (b 4) -> a b", "2,12", "", "a (b 4^) -> a b => 2,3"},
    {"bracket by an argument", "a (b c) -> a b c", "2,12", "b=3", "a (b c^) -> a b c^ => 2,3,4"},
    {"bracket by a later dim", "(a b), b -> a", "12; 3", "", "(a b^), b^ -> a => 4"},
    {"argument before a later dim", "(a b), (b c) -> a c", "12; 6", "b=3",
     "(a b^), (b^ c^) -> a c^ => 4,2"},
    {"output by an argument", "a -> a t", "4", "t=7", "a -> a t => 4,7"},
    {"bracket in an output", "a b -> 2 (a b 3)", "4,6", "", "a b^ -> 2^ (a b^ 3^) => 2,72"},
    {"two outputs", "a b -> b a, ?", "4,6", "", "a b -> b a, ?^ => 6,4; ?"},
    {"no tensor", "a, b -> a", "4; -", "", "a, b -> a => 4"},
    {"second fits", "a b -> a | a b c -> c", "2,3,4", "", "a b c -> c => 4"},
    {"first fits", "a b -> a | x y -> y", "2,3", "", "a b -> a => 2"},
    {"a conflict is no end", "a a -> a | a b -> b", "2,3", "", "a b -> b => 3"},
    {"too few inputs", "a, b -> a", "4", "",
     "no_match: no annotation fits: `a, b -> a`: it has 2 inputs, 1 are given"},
    {"rank", "a b -> a", "4", "",
     "no_match: no annotation fits: `a b -> a`: input 0 has 1 dims, not 2"},
    {"conflict", "a k, k -> a", "4,8; 7", "",
     "no_match: no annotation fits: `a k, k -> a`: 'k' is 8, dim 0 of input 1 is 7"},
    {"number", "3 a -> a", "4,5", "",
     "no_match: no annotation fits: `3^ a -> a`: '3' is 3, dim 0 of input 0 is 4"},
    {"bracket and dim", "(a 2), a -> a", "8; 5", "",
     "no_match: no annotation fits: `(a 2^), a -> a`: a bracket is 10, its dim 8"},
    {"dim after bracket", "(a 2), (a 3) -> a", "8; 9", "",
     "no_match: no annotation fits: `(a 2^), (a 3^) -> a`: a bracket is 12, its dim 9"},
    {"not divisible", "a (b 5) -> a b", "2,12", "",
     "not_divisible: no annotation fits: `a (b 5^) -> a b`: 'b' cannot be found: 5 does not "
     "divide 12"},
    {"two unknown", "(a b) -> a b", "12", "",
     "not_inferable: no annotation fits: `(a b^) -> a b^`: neither 'a' nor 'b' is known in a dim "
     "of 12"},
    {"output unknown", "a -> a t", "4", "",
     "not_inferable: no annotation fits: `a -> a t`: the length of 't' is not known"},
    {"argument is no length", "a -> a t", "4", "t=x",
     "not_inferable: no annotation fits: `a -> a t`: the argument 't' is not a length"},
    {"negative argument", "a -> a t", "4", "t=-3",
     "not_inferable: no annotation fits: `a -> a t`: the argument 't' is not a length"},
    {"argument of zero", "(a t) -> a", "4", "t=0",
     "not_divisible: no annotation fits: `(a t^) -> a`: 'a' cannot be found: 0 does not divide 4"},
    {"stars of two lengths", "*, * -> *", "2,3; 3", "",
     "no_match: no annotation fits: `*, * -> *`: '*' fits input 1 not as it fits the others"},
    {"star of no tensor", "* -> *", "-", "",
     "no_match: no annotation fits: `* -> *`: '*' fits input 0 not as it fits the others"},
    {"star of an output", "a -> *", "4", "",
     "no_match: no annotation fits: `a -> *`: '*' is in an output but in no input"},
    {"two stars", "* * -> *", "2,3", "",
     "no_match: no annotation fits: `* * -> *`: '*' stands twice in one tensor"},
    {"too large", "a b -> (a b 1152921504606846976)", "4,6", "",
     "no_match: no annotation fits: `a b^ -> (a b^ 1152921504606846976^)`: output 0 is too large"},
    {"all are named", "a b -> a | 3 -> 3", "4", "",
     "no_match: no annotation fits: `a b -> a`: input 0 has 1 dims, not 2; `3^ -> 3^`: '3' is 3, "
     "dim 0 of input 0 is 4"},
};

typedef struct {
    const Anno *candidate[4];
    AnnoInput input[8];
    AnnoArg arg[4];
    int n_candidates, n_inputs, n_args;
    AnnoMatch match;
} Request;

/* The part of *rest before the separator, trimmed; *rest is what comes after it. */
static Str cut_at(Str *rest, Str separator)
{
    int64_t at = str_find(*rest, separator);
    Str part = at < 0 ? *rest : (Str){rest->s, (size_t)at};
    size_t used = at < 0 ? rest->n : (size_t)at + separator.n;
    *rest = (Str){rest->s + used, rest->n - used};
    return str_trim(part);
}

static AnnoInput read_input(Str text)
{
    AnnoInput input = {.is_tensor = !str_eq(text, STR("-"))};
    while (input.is_tensor && text.n > 0)
        assert_true(str_to_int(cut_at(&text, STR(",")), &input.shape.dim[input.shape.n_dims++]));
    return input;
}

static bool read_request(Arena *arena, const char *annos, const char *inputs, const char *args,
                         Request *request, Error *err)
{
    *request = (Request){0};
    for (Str rest = str_from(annos); rest.n > 0;) {
        Source source = {"x", cut_at(&rest, STR("|"))};
        const Anno *anno = anno_parse(arena, &source, err);
        assert_non_null(anno);
        request->candidate[request->n_candidates++] = anno;
    }
    for (Str rest = str_from(inputs); rest.n > 0;)
        request->input[request->n_inputs++] = read_input(cut_at(&rest, STR(";")));
    for (Str rest = str_from(args); rest.n > 0;) {
        Str value = cut_at(&rest, STR(" ")), name = cut_at(&value, STR("="));
        AnnoArg *arg = &request->arg[request->n_args++];
        arg->name = name;
        arg->is_int = str_to_int(value, &arg->value);
    }
    return anno_match(arena, request->candidate, request->n_candidates, request->input,
                      request->n_inputs, request->arg, request->n_args, &request->match, err);
}

static void put_shape(const Shape *shape, Buf *out)
{
    if (shape->n_dims == 0)
        buf_puts(out, "scalar");
    for (int d = 0; d < shape->n_dims; d++)
        buf_printf(out, d > 0 ? ",%" PRId64 : "%" PRId64, shape->dim[d]);
}

static void finds_the_lengths(void **state)
{
    const MatchRow *row = *state;
    Arena *arena = arena_new();
    Request request;
    Error err = {0};
    Buf out = buf_new(arena);
    if (read_request(arena, row->annos, row->inputs, row->args, &request, &err)) {
        const Anno *anno = request.match.anno;
        anno_format(anno, &out);
        buf_puts(&out, " => ");
        for (int o = 0; o < anno->n_outputs; o++) {
            buf_puts(&out, o > 0 ? "; " : "");
            if (anno->tensor[anno->n_inputs + o].ignored)
                buf_putc(&out, '?');
            else
                put_shape(&request.match.output[o], &out);
        }
    } else {
        buf_puts(&out, error_text(arena, &err));
    }
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

static void lengths_are_known_by_name(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Request request;
    Error err = {0};
    assert_true(read_request(arena, "(a b) *, x -> a", "12,5; -", "b=3", &request, &err));
    assert_int_equal(anno_length(&request.match, STR("a")), 4);
    assert_int_equal(anno_length(&request.match, STR("b")), 3);
    assert_int_equal(anno_length(&request.match, STR("c")), 5);
    assert_int_equal(anno_length(&request.match, STR("x")), -1);
    assert_int_equal(anno_length(&request.match, STR("nobody")), -1);
    arena_free(arena);
}

/* ---- op spaces ---- */

static MatchRow space_rows[] = {
    {"matmul", "* m k+, * k+ n -> * m n", "2,4,8; 2,8,6", "", "a m k+, a k+ n -> a m n"},
    {"heads may be cut", "b s (h d) -> b h s d", "2,8,12", "h=3", "b s (h d) -> b h s d"},
    {"minor sums may be cut", "(h k+), k+ n -> h n", "12; 3,5", "", "(h k+), k+ n -> h n"},
    {"frozen", "a b^ -> a b^", "4,6", "", "a b^ -> a b^"},
    {"frozen and gone", "a b^ -> a", "4,6", "", "a b^ -> a"},
    {"numbers", "a 3 1 -> a 5", "4,3,1", "", "a 3 1 -> a 5"},
    {"number in a bracket", "(3 h), h -> 3 h", "12; 4", "", "(3 h), h -> 3 h"},
    {"equal numbers", "(a 2) (b 2) -> (a 2) (b 2)", "4,6", "", "(a 2) (b 2) -> (a 2) (b 2)"},
    {"ones in a bracket", "(1 a b) -> a b", "12", "b=3", "(a b) -> a b"},
    {"ignored and absent", "a, ?, b -> a, ?", "4; 9; -", "", "a, ?, ? -> a, ?"},
    {"spatial in no output", "a b -> a", "4,6", "", "a b^ -> a"},
    {"spatial in one output", "a, b -> a, b", "4; 6", "", "a, b -> a, b"},
    {"sum in an output", "a+ b -> a+ b", "4,6", "", "a^ b -> a^ b"},
    {"diagonal", "l l, l m -> l m", "4,4; 4,6", "", "4 4, l^ m -> l^ m"},
    {"diagonal output", "a -> a a", "4", "", "a^ -> 4 4"},
    {"beside a diagonal", "(a k+) a, k+ b -> a b", "8,2; 4,6", "", "8 2, k^ b -> a^ b"},
    {"only made", "-> a 3", "", "a=4", " -> a 3"},
    {"empty bracket", "-> (b 0)", "", "b=2", " -> 0"},
    {"long bracket", "(a b c d e) -> a b c d e", "32", "a=2 b=2 c=2 d=2",
     "unsupported: a bracket has at most 4 members, an op 16 index dims"},
    {"many names", "a b c d e f g h i, j k l m n o p q r -> a",
     "1,1,1,1,1,1,1,1,1; 1,1,1,1,1,1,1,1,1", "",
     "unsupported: an op has at most 16 index dims; 'q' is one more"},
};

static void becomes_an_op_space(void **state)
{
    const MatchRow *row = *state;
    Arena *arena = arena_new();
    Request request;
    Error err = {0};
    Buf out = buf_new(arena);
    assert_true(read_request(arena, row->annos, row->inputs, row->args, &request, &err));
    OpSpace *space = anno_opspace(arena, &request.match, &err);
    if (space)
        opspace_format(space, &out);
    else
        buf_puts(&out, error_text(arena, &err));
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

/* ---- partition ---- */

typedef struct {
    const char *name, *anno, *inputs, *args;
    int operand, dim;
    int64_t num;
    const char *want; /* rule, then what the last piece holds, or the error */
} PartitionRow;

static PartitionRow partition_rows[] = {
    {"map", "m k+, k+ n -> m n", "4,8; 8,6", "", 0, 0, 2, "D(0) R D(0) | 2:4,0:8 0:8,0:6 2:4,0:6"},
    {"sum", "m k+, k+ n -> m n", "4,8; 8,6", "", 0, 1, 4,
     "D(1) D(0) V | 0:4,6:8 6:8,0:6 0:4,0:6(3/4)"},
    {"from the end", "m k+, k+ n -> m n", "4,8; 8,6", "", 1, -1, 3,
     "R D(1) D(1) | 0:4,0:8 0:8,4:6 0:4,4:6"},
    {"output", "m k+, k+ n -> m n", "4,8; 8,6", "", 2, 1, 2,
     "R D(1) D(1) | 0:4,0:8 0:8,3:6 0:4,3:6"},
    {"bracket", "a (b 3) -> a b", "4,12", "", 0, 1, 4, "D(1) D(1) | 0:4,9:12 0:4,3:4"},
    {"bracket with ones", "(1 a) -> a", "6", "", 0, 0, 2, "D(0) D(0) | 3:6 3:6"},
    {"two dims", "L 8^ (L 2), L E -> (L 2) E", "4,8,8; 4,3", "", 0, 0, 2,
     "D(0,2) D(0) D(0) | 2:4,0:8,4:8 2:4,0:3 4:8,0:3"},
    {"argument", "(a b) -> a b", "8", "a=4", 0, 0, 2, "D(0) D(0) | 4:8 2:4,0:2 a=2"},
    {"not every output", "b h, b m -> b h, b m", "2,4; 2,6", "", 0, 1, 2,
     "D(1) R D(1) R | 0:2,2:4 0:2,0:6 0:2,2:4 0:2,0:6"},
    {"ignored and absent", "a, ?, b -> a, ?", "4; 6; -", "", 0, 0, 2,
     "D(0) R R D(0) R | 2:4 0:6 - 2:4 -"},
    {"in no output", "a b -> a", "4,6", "", 0, 1, 2, "D(1) R | 0:4,3:6 0:4"},
    {"one piece", "a -> a", "4", "", 0, 0, 1, "D(0) D(0) | 0:4 0:4"},
    {"one piece is a cut of the first member", "(1 a) -> a", "6", "", 0, 0, 1,
     "frozen: '1' is frozen"},
    {"frozen", "a^ b -> a^ b", "4,6", "", 0, 0, 2, "frozen: 'a' is frozen"},
    {"number", "a 6 -> a 6", "4,6", "", 0, 1, 2, "frozen: '6' is frozen"},
    {"minor", "(b c) -> b c", "12", "b=1", 0, 0, 2, "frozen: 'c' is frozen"},
    {"not divisible", "a (b 3) -> a b", "4,12", "", 0, 1, 8,
     "not_divisible: 'b' has length 4, which 8 does not divide"},
    {"argument not divisible", "a b -> a b", "4,6", "a=5", 0, 0, 2,
     "not_divisible: the argument 'a' is 5, which 2 does not divide"},
    {"no such operand", "a -> a", "4", "", 2, 0, 2,
     "out_of_range: there is no operand 2: the op has 2"},
    {"negative operand", "a -> a", "4", "", -1, 0, 2,
     "out_of_range: there is no operand -1: the op has 2"},
    {"no such dim", "a -> a", "4", "", 0, 1, 2, "out_of_range: operand 0 has no dim 1: it has 1"},
    {"below the dims", "a -> a", "4", "", 0, -2, 2,
     "out_of_range: operand 0 has no dim -2: it has 1"},
    {"no pieces", "a -> a", "4", "", 0, 0, 0, "out_of_range: an op cannot be cut into 0 pieces"},
    {"ignored operand", "?, a -> a", "4; 4", "", 0, 0, 2,
     "invalid: operand 0 is not a tensor that can be cut"},
    {"absent operand", "b, a -> a", "-; 4", "", 0, 0, 2,
     "invalid: operand 0 is not a tensor that can be cut"},
};

static void put_piece(const AnnoPartition *partition, int operand, Buf *out)
{
    const AnnoMatch *match = partition->match;
    bool present = operand < match->anno->n_inputs ? match->input[operand].is_tensor
                                                   : !match->anno->tensor[operand].ignored;
    AnnoPiece piece = anno_piece(partition, operand, partition->num - 1);
    buf_puts(out, present ? " " : " -");
    for (int d = 0; present && d < piece.range.n; d++)
        buf_printf(out, "%s%" PRId64 ":%" PRId64, d > 0 ? "," : "", piece.range.lo[d],
                   piece.range.hi[d]);
    if (piece.n_parts > 1)
        buf_printf(out, "(%" PRId64 "/%" PRId64 ")", piece.part, piece.n_parts);
}

static bool cut_op(Arena *arena, const PartitionRow *row, Buf *out, Error *err)
{
    Request request;
    AnnoPartition partition;
    AnnoArg args[4];
    assert_true(read_request(arena, row->anno, row->inputs, row->args, &request, err));
    if (!anno_partition(arena, &request.match, row->operand, row->dim, row->num, false, &partition,
                        err) ||
        !anno_piece_args(&partition, request.arg, request.n_args, args, err) ||
        !anno_piece_check(arena, &partition, request.candidate, request.n_candidates, args,
                          request.n_args, err))
        return false;
    int n = request.match.anno->n_inputs + request.match.anno->n_outputs;
    for (int i = 0; i < n; i++) {
        anno_split_format(&partition.split[i], out);
        buf_putc(out, ' ');
    }
    buf_putc(out, '|');
    for (int i = 0; i < n; i++)
        put_piece(&partition, i, out);
    for (int i = 0; i < request.n_args; i++)
        buf_printf(out, " %.*s=%" PRId64, STR_ARG(args[i].name), args[i].value);
    return true;
}

static void cuts_into_pieces(void **state)
{
    const PartitionRow *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    Buf out = buf_new(arena);
    if (!cut_op(arena, row, &out, &err)) {
        out = buf_new(arena);
        buf_puts(&out, error_text(arena, &err));
    }
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

static void strictly_a_spatial_identifier_needs_an_output(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Request request;
    AnnoPartition partition;
    Error err = {0};
    assert_true(read_request(arena, "a b -> a", "4,6", "", &request, &err));
    assert_false(anno_partition(arena, &request.match, 0, 1, 2, true, &partition, &err));
    assert_int_equal(err.kind, ERROR_FROZEN);
    assert_true(anno_partition(arena, &request.match, 0, 0, 2, true, &partition, &err));
    arena_free(arena);
}

static void pieces_that_make_another_shape_are_found(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Request request;
    AnnoPartition partition;
    Error err = {0};
    assert_true(read_request(arena, "2 a -> a | b a -> b a", "4,6", "", &request, &err));
    assert_true(anno_partition(arena, &request.match, 0, 0, 2, false, &partition, &err));
    assert_false(anno_piece_check(arena, &partition, request.candidate, 2, NULL, 0, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_kept_beside_what_is_frozen),
        cmocka_unit_test(one_tensor_is_read_by_itself),
        cmocka_unit_test(lengths_are_known_by_name),
        cmocka_unit_test(strictly_a_spatial_identifier_needs_an_output),
        cmocka_unit_test(pieces_that_make_another_shape_are_found),
    };
    return cmocka_run_group_tests_name("anno", tests, NULL, NULL) +
           run_rows("parse", parse_rows, reads_and_prints) +
           run_rows("canonical", parse_rows, canonical_text_reads_back_to_itself) +
           run_rows("match", match_rows, finds_the_lengths) +
           run_rows("opspace", space_rows, becomes_an_op_space) +
           run_rows("partition", partition_rows, cuts_into_pieces);
}

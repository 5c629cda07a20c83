/* anno.h - the dimop annotation language: `m^ kd+, kd+ n -> m^ n`, `(h t) k -> h t k`.
 *
 * Grammar, canonical text, forced freezing of inner identifiers, expansion of `*`, alignment with
 * hidden dims, shape inference and partition follow nnScaler 0.9, with these differences: all
 * candidates are tried, a cut of a dim that is missing from a spatial output is refused only if it
 * is named, and tabs separate. Indices are zero-based; outputs continue after inputs.
 */
#ifndef CORE_SPACE_ANNO_H
#define CORE_SPACE_ANNO_H

#include "core/space/opspace.h"

enum { ANNO_ATOMS_MAX = 8 };

typedef enum { ATOM_SPATIAL, ATOM_SUM, ATOM_FROZEN } AtomKind;

typedef struct {
    Str name;       /* identifier, decimal text, "*" or "?" */
    int32_t id;     /* place in Anno.name: equal names of an annotation have equal ids */
    int64_t number; /* of a decimal name; -1 else */
    AtomKind kind;
    AtomKind written; /* what the text says; differs from `kind` if freezing was forced because
                         the identifier is minor in some bracket */
    int32_t at;       /* byte of the text that was read */
} AnnoAtom;

typedef struct {
    int n; /* atoms; more than one is a bracket, major first */
    AnnoAtom atom[ANNO_ATOMS_MAX];
} AnnoDim;

typedef struct {
    bool ignored; /* exactly `?` */
    bool no_grad_reduce_all;
    int n_dims, n_no_grad;
    AnnoDim *dim;
    Str *no_grad; /* identifiers after `/` */
} AnnoTensor;

typedef struct {
    int n_inputs, n_outputs;
    AnnoTensor *tensor; /* inputs, then outputs */
    int n_names;
    Str *name; /* of all atoms, numbers too */
} Anno;

/* "a b, (b n) c -> a (n c)". NULL: syntax, or an identifier with two suffixes (ERROR_SYNTAX,
 * ERROR_INCONSISTENT_REDUCE), with the place in *err. The text is copied. */
Anno *anno_parse(Arena *arena, const Source *source, Error *err);
/* One tensor, "a (b c) : /m": nothing is forced to be frozen. */
bool anno_parse_tensor(Arena *arena, const Source *source, AnnoTensor *out, Error *err);
void anno_format(const Anno *anno, Buf *out); /* canonical text; parses back to itself */
void anno_format_tensor(const AnnoTensor *tensor, Buf *out);

/* The cuts allowed: pairs (input, dim), identifiers at their first occurrence. */
typedef struct {
    int input, dim;
} AnnoPlace;
int anno_space(Arena *arena, const Anno *anno, AnnoPlace **out);

/* An input as given: a tensor with its shape, or any other value. */
typedef struct {
    bool is_tensor;
    Shape shape;
} AnnoInput;

/* Keyword arguments: integers only are looked at. */
typedef struct {
    Str name;
    bool is_int;
    int64_t value;
} AnnoArg;

/* The first candidate that fits, with `*` expanded and every length known. */
typedef struct {
    const Anno *anno;
    const AnnoInput *input; /* a copy of what was matched */
    int n_lengths;
    Str *identifier; /* of each length: anno->name */
    int64_t *length; /* -1: only in tensors that are not there */
    Shape *output;   /* per output; ignored ones are left 0-dim */
} AnnoMatch;

/* The atom whose blocks are contiguous in the dim: the first that is not a literal. */
int anno_leading(const AnnoDim *dim);

/* Kinds of failure: ERROR_NO_MATCH; with a single candidate also ERROR_NOT_INFERABLE (a length
 * cannot be found) and ERROR_NOT_DIVISIBLE (a bracket's dim is not divisible by its known members).
 */
bool anno_match(Arena *arena, const Anno *const *candidates, int n_candidates,
                const AnnoInput *inputs, int n_inputs, const AnnoArg *args, int n_args,
                AnnoMatch *out, Error *err);
int64_t anno_length(const AnnoMatch *match, Str identifier); /* -1 when unknown */

/* The op space of a match: identifiers are index dims, brackets are mixed radix, numbers are whole
 * dims (in brackets: frozen index dims), an argument that is no tensor is absent, `?` is ignored.
 * Identifiers that are frozen only because they are minor in a bracket may be cut here: our cuts
 * consist of digits. These are never cut, since the annotation does not say what a shard of them
 * computes: a spatial identifier in no output, a summed one in an output, one that a tensor has
 * twice (its diagonal), and whatever shares a dim with one of these. ERROR_UNSUPPORTED: more than
 * X_MAX index dims, or FACTORS_MAX members in a bracket. */
OpSpace *anno_opspace(Arena *arena, const AnnoMatch *match, Error *err);

#endif

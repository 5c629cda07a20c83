/* anno.h - the dimop annotation language: `m^ kd+, kd+ n -> m^ n`, `(h t) k -> h t k`.
 *
 * Grammar, canonical text, forced freezing of inner identifiers, expansion of `*`, alignment with
 * hidden dims, shape inference and partition follow nnScaler 0.9 (research: nnscaler.md sections 1
 * to 3, with section 10's deliberate departures: all candidates are tried, a cut of a dim missing
 * from a spatial output is refused only by name, tabs separate). Indices are zero-based; outputs
 * continue after inputs.
 */
#ifndef CORE_RULES_ANNO_H
#define CORE_RULES_ANNO_H

#include "core/rules/opspace.h"

enum { ANNO_ATOMS_MAX = 8 };

typedef enum { ATOM_SPATIAL, ATOM_SUM, ATOM_FROZEN } AtomKind;

typedef struct {
    Str name;       /* identifier, decimal text, "*" or "?" */
    int64_t number; /* of a decimal name; -1 else */
    AtomKind kind;
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
} Anno;

Anno *anno_parse(Arena *arena, const Source *source, Error *err);
bool anno_parse_tensor(Arena *arena, const Source *source, AnnoTensor *out, Error *err);
void anno_format(const Anno *anno, Buf *out); /* canonical text; parses back to itself */
void anno_format_tensor(const AnnoTensor *tensor, Buf *out);

/* The cuts allowed: pairs (input, dim), identifiers at their first occurrence. */
typedef struct {
    int input, dim;
} AnnoPlace;
int anno_space(Arena *arena, const Anno *anno, AnnoPlace **out);

/* An input as given: a tensor with a shape, or any other value. */
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
    int n_lengths;
    Str *identifier; /* of each length */
    int64_t *length;
    Shape *output; /* per output; ignored ones are left 0-dim */
} AnnoMatch;

bool anno_match(Arena *arena, const Anno *const *candidates, int n_candidates,
                const AnnoInput *inputs, int n_inputs, const AnnoArg *args, int n_args,
                AnnoMatch *out, Error *err);
int64_t anno_length(const AnnoMatch *match, Str identifier); /* -1 when unknown */

/* The op space of a match: identifiers are index dims, brackets mixed radix, numbers whole dims. */
OpSpace *anno_opspace(Arena *arena, const AnnoMatch *match, Error *err);

#endif

/* fuzz_eval.c - requests of the eval protocol: any text is answered or refused.
 *
 * Requests begin as the facts of tests/conformance; what changes are bytes, or whole words of the
 * text: numbers, names, values of a list.
 */
#include "core/base/eval.h"
#include "core/base/vec.h"
#include "core/layout/runs.h"
#include "core/plan/schedule_eval.h"
#include "core/prove/optimizer_eval.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t n, size_t n_max);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t n_max, unsigned seed);

static const char *const fact_files[] = {"factor",
                                         "factor.optional",
                                         "reshard_collectives",
                                         "reshard_insert",
                                         "reshard_rvd",
                                         "redistribute",
                                         "layout",
                                         "spmd",
                                         "strategy"};

typedef struct {
    Arena *arena;
    Vec(Str) fact;
} Facts;

/* The requests of all facts, without what is expected. */
static const Facts *read_facts(void)
{
    static Facts facts;
    for (size_t f = 0; facts.fact.n == 0 || (f > 0 && f < sizeof fact_files / sizeof *fact_files);
         f++) {
        char path[128], *line = NULL;
        size_t room = 0;
        snprintf(path, sizeof path, "tests/conformance/%s.jsonl", fact_files[f]);
        FILE *file = fopen(path, "r");
        if (!file)
            abort();
        if (!facts.arena)
            facts.arena = arena_new();
        while (getline(&line, &room, file) > 0) {
            char *expect = strstr(line, ",\"expect\"");
            if (expect)
                memcpy(expect, "}", 2);
            vec_push(facts.arena, &facts.fact, str_from(arena_str(facts.arena, str_from(line))));
        }
        free(line);
        fclose(file);
    }
    return &facts;
}

/* ---- words: a text in quotes, a number, or one other character ---- */

static size_t word_end(const uint8_t *bytes, size_t n, size_t at)
{
    size_t end = at + 1;
    if (bytes[at] == '"') {
        while (end < n && bytes[end] != '"')
            end++;
        return end < n ? end + 1 : end;
    }
    if (isdigit(bytes[at]) || bytes[at] == '-')
        while (end < n && isdigit(bytes[end]))
            end++;
    return end;
}

static size_t some_word(const uint8_t *bytes, size_t n, unsigned seed, bool number, size_t *end)
{
    size_t found = n, seen = 0;
    for (size_t at = 0; at < n; at = *end) {
        *end = word_end(bytes, n, at);
        bool fits = number ? isdigit(bytes[at]) || bytes[at] == '-' : bytes[at] == '"';
        if (fits && (seed = seed * 1664525u + 1013904223u) >> 8 < 0xffffffu / (unsigned)++seen)
            found = at;
    }
    *end = found < n ? word_end(bytes, n, found) : n;
    return found;
}

/* A list with its brackets, from the first at or after `at`. */
static size_t list_from(const uint8_t *bytes, size_t n, size_t at, size_t *end)
{
    while (at < n && bytes[at] != '[')
        at++;
    int depth = 0;
    for (*end = at; *end < n; ++*end)
        if ((depth += (bytes[*end] == '[') - (bytes[*end] == ']')) == 0)
            break;
    *end += *end < n;
    return at;
}

static size_t replace(uint8_t *bytes, size_t n, size_t n_max, size_t at, size_t end, Str text)
{
    if (at >= n || n - (end - at) + text.n > n_max)
        return n;
    char copy[256];
    text.n = text.n < sizeof copy ? text.n : sizeof copy; /* it may lie in bytes */
    memcpy(copy, text.s, text.n);
    memmove(bytes + at + text.n, bytes + end, n - end);
    memcpy(bytes + at, copy, text.n);
    return n - (end - at) + text.n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t n_max, unsigned seed)
{
    static const char *const numbers[] = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "4",
                                          "5",
                                          "6",
                                          "7",
                                          "8",
                                          "12",
                                          "16",
                                          "64",
                                          "-1",
                                          "-2",
                                          "100",
                                          "1024",
                                          "1048576",
                                          "2147483648",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "1.5",
                                          "1e30",
                                          "null",
                                          "\"\"",
                                          "[]",
                                          "{}",
                                          "true"};
    const Facts *facts = read_facts();
    size_t at, end, other, other_end;
    Str text = facts->fact.at[(seed >> 4) % (unsigned)facts->fact.n];
    switch (seed % 16) {
    case 0:
        return LLVMFuzzerMutate(bytes, n, n_max);
    case 1:
    case 2:
        return text.n <= n_max ? (memcpy(bytes, text.s, text.n), text.n) : n;
    case 3:
    case 4:
    case 5:
    case 6:
        at = some_word(bytes, n, seed, false, &end);
        other = some_word(bytes, n, seed * 31, false, &other_end);
        return replace(bytes, n, n_max, at, end, (Str){(char *)bytes + other, other_end - other});
    case 7:
    case 8:
        at = list_from(bytes, n, (seed >> 4) % (n + 1), &end);
        other = list_from(bytes, n, (seed >> 12) % (n + 1), &other_end);
        return replace(bytes, n, n_max, at, end, (Str){(char *)bytes + other, other_end - other});
    default:
        at = some_word(bytes, n, seed, true, &end);
        return replace(bytes, n, n_max, at, end,
                       str_from(numbers[(seed >> 8) % (sizeof numbers / sizeof *numbers)]));
    }
}

static bool answer(Arena *arena, const Json *request, Json *out, Error *err)
{
    Str name = json_str(json_get(request, "do"), "");
    static const EvalVerb own[] = {{"layout", eval_layout},
                                   {"schedule", eval_schedule},
                                   {"schedule.bubble", eval_schedule_bubble},
                                   {"optimizer.step", eval_optimizer_step},
                                   {"lr.schedule", eval_lr_schedule},
                                   {0}};
    const EvalVerb *verb = eval_verb_in(own, name);
    if (!verb)
        verb = eval_verb_of_peers(name);
    return verb ? verb->answer(arena_str(arena, name), arena, request, out, err)
                : error_set(err, "no such verb");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    Source source = {.name = "request", .text = {(const char *)bytes, n_bytes}};
    Error err = {0};
    Json *request = json_parse(&source, &err), *out = json_object();
    Arena *arena = arena_new();
    if (json_is_object(request)) {
        if (answer(arena, request, out, &err) == error_is_set(&err))
            abort();
        Buf text = buf_new(arena);
        json_write(out, &text);
    }
    arena_free(arena);
    json_free(out);
    json_free(request);
    return 0;
}

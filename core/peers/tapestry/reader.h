/* reader.h - the tokenizer of a template's texts, shared by the parsers of phrases and patterns. */
#ifndef CORE_PEERS_TAPESTRY_READER_H
#define CORE_PEERS_TAPESTRY_READER_H

#include "core/peers/tapestry/phrase.h"

enum { NESTING_MAX = 64 };

typedef enum {
    TOKEN_END,
    TOKEN_INT,
    TOKEN_ID,
    TOKEN_VAR,    /* $a.b; name is a.b */
    TOKEN_COORD,  /* @a; @ alone has an empty name */
    TOKEN_RUN,    /* ... */
    TOKEN_WINDOW, /* :+ */
    TOKEN_OWNS,   /* :> */
    TOKEN_COMPARE,
    TOKEN_CHAR /* one of [ ] ( ) , : + - * / % ^ = | . _ ~ */
} TokenKind;

typedef struct {
    TokenKind kind;
    int at;
    int op; /* the character of a TOKEN_CHAR; Comparison of a TOKEN_COMPARE */
    int64_t number;
    Str name;
} Token;

typedef struct {
    Arena *arena;
    Phrase *phrase;
    Error *err;
    size_t pos;
    int depth;
    Token token; /* the next one */
} Reader;

/* Starts at the first token. Returns false with E_LEX, or if the text is too long. */
bool reader_begin(Reader *reader, Arena *arena, const char *owner, const char *where, Str text,
                  Error *err);
bool reader_next(Reader *reader); /* false: E_LEX, E_OVERFLOW */
bool reader_is(const Reader *reader, char c);
bool reader_accept(Reader *reader, char c,
                   bool *taken); /* *taken: it was there; false: E_LEX after it */
bool reader_expect(Reader *reader, char c, const char *after);
bool reader_fail(Reader *reader, TemplateCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));              /* at the current token */
bool reader_expected(Reader *reader, const char *what); /* E_SYNTAX: "expected .. before .." */
bool reader_end(Reader *reader);                        /* fails unless all is read */
bool reader_enter(Reader *reader); /* one bracket deeper; fails beyond NESTING_MAX */

/* Reads an expression, for sizes in patterns. Returns NULL with the error set. */
const PhraseNode *reader_expr(Reader *reader);

#endif

/* rule_book.h - what the top level of a policy file registers: operators, and rules for other
 * systems.
 */
#ifndef CORE_RULES_RULE_BOOK_H
#define CORE_RULES_RULE_BOOK_H

#include "core/base/peer.h"
#include "core/base/str.h"

#include <stdbool.h>

typedef struct Registry Registry;

enum { RULE_BOOK_PEERS_MAX = 16 };

typedef struct RuleBook {
    Registry *registry;
    void
        *of_peer[RULE_BOOK_PEERS_MAX]; /* what Peer.rules_new made, in the order of `built_peers` */
    bool allow_native;                 /* kernels of shared libraries may be loaded */
    Buf *printed; /* without a session: the lines that files and their rules print; NULL: dropped */
} RuleBook;

RuleBook rule_book_new(Arena *arena);

/* The rules registered for a peer; NULL if the book is NULL, or the peer is not built in or has no
 * such rules. */
void *rule_book_of(const RuleBook *book, const Peer *peer);

int rule_book_n_rules(const RuleBook *book); /* registered with all peers */

#endif

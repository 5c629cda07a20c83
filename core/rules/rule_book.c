#include "core/rules/rule_book.h"

#include "core/rules/registry.h"

#include <assert.h>

RuleBook rule_book_new(Arena *arena)
{
    RuleBook book = {.registry = registry_new(arena)};
    for (int i = 0; built_peers[i]; i++) {
        assert(i < RULE_BOOK_PEERS_MAX);
        if (built_peers[i]->rules_new)
            book.of_peer[i] = built_peers[i]->rules_new(arena);
    }
    return book;
}

void *rule_book_of(const RuleBook *book, const Peer *peer)
{
    for (int i = 0; book && built_peers[i]; i++)
        if (built_peers[i] == peer)
            return book->of_peer[i];
    return NULL;
}

int rule_book_n_rules(const RuleBook *book)
{
    int n = 0;
    for (int i = 0; built_peers[i]; i++)
        if (built_peers[i]->n_rules)
            n += built_peers[i]->n_rules(book->of_peer[i]);
    return n;
}

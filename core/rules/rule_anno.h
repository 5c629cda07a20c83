/* rule_anno.h - matches annotations with the operands and the attributes of an op. */
#ifndef CORE_RULES_RULE_ANNO_H
#define CORE_RULES_RULE_ANNO_H

#include "core/rules/registry.h"
#include "core/space/anno.h"

/* The first annotation that fits the call (anno_match()). Its keyword arguments are the integer
 * attributes of the op, by our names, and those of `more` that the op lacks. In the call's arena;
 * returns false with *err if none fits. */
bool rule_match_anno(const RuleCall *call, const Anno *const *annos, int n, const AnnoArg *more,
                     int n_more, AnnoMatch *out, Error *err);

#endif

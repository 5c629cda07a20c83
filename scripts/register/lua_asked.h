/* lua_asked.h - calls from the engine into the functions of a registered operator.
 *
 * cost, comm, input_gen and gradient share one AskedFunctions, the context of their UserOp. Each
 * call takes the sandbox's lock, has a full budget, and on failure puts its place in the file
 * before *err's text.
 */
#ifndef SCRIPTS_REGISTER_LUA_ASKED_H
#define SCRIPTS_REGISTER_LUA_ASKED_H

#include "core/rules/user_op.h"
#include "scripts/sandbox/lua_state.h"

/* ORDER ASKED */
typedef enum { ASKED_COST, ASKED_COMM, ASKED_INPUT_GEN, ASKED_GRADIENT, ASKED_COUNT } AskedKind;

typedef struct AskedFunctions AskedFunctions;

AskedFunctions *asked_new(Sandbox *sandbox, const char *name);
/* Stores the function at the top of the stack; for ASKED_COMM also a list. */
bool asked_keep(lua_State *L, AskedFunctions *asked, AskedKind kind, Error *err);
/* Stores the function at the top of the stack as the rule's, and pops it. */
void asked_kwargs(lua_State *L, const char *name, CutRule *rule);

void asked_push(lua_State *L, const AskedFunctions *asked, AskedKind kind);
/* Runs the body, whose context is at index 1, under the sandbox's lock; afterwards the sandbox's
 * host is restored. */
bool asked_run(const AskedFunctions *asked, AskedKind kind, lua_CFunction body, void *context,
               Error *err);

/* Of UserOp. */
bool asked_cost(void *context, const OpPart *part, DeclaredCost *out, Error *err);
bool asked_comm(void *context, const OpPart *part, const SaidComm **out, int *n, Error *err);
bool asked_input_gen(void *context, const OpPart *part, Generated *out, Error *err);

#endif

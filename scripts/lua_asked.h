/* lua_asked.h - the functions of a registered operator, asked by the engine.
 *
 * cost, comm and input_gen of an operator are one AskedFunctions, the context of its UserOp; a
 * rule's kwargs function has a context of its own. Each call takes the sandbox's turn, has the full
 * budget, and fails with the place in the file at the head of *err's text.
 */
#ifndef SCRIPTS_LUA_ASKED_H
#define SCRIPTS_LUA_ASKED_H

#include "core/rules/user_op.h"
#include "scripts/lua_state.h"

/* ORDER ASKED */
typedef enum { ASKED_COST, ASKED_COMM, ASKED_INPUT_GEN, ASKED_COUNT } AskedKind;

typedef struct AskedFunctions AskedFunctions;

AskedFunctions *asked_new(Sandbox *sandbox, const char *name);
/* Keeps the value at the top of the stack: a function; a list too for ASKED_COMM. */
bool asked_keep(lua_State *L, AskedFunctions *asked, AskedKind kind, Error *err);
/* Keeps the function at the top of the stack, which is popped, as the rule's. */
void asked_kwargs(lua_State *L, const char *name, CutRule *rule);

/* Of UserOp. */
bool asked_cost(void *context, const OpPart *part, SaidCost *out, Error *err);
bool asked_comm(void *context, const OpPart *part, const SaidComm **out, int *n, Error *err);
bool asked_input_gen(void *context, const OpPart *part, Generated *out, Error *err);

#endif

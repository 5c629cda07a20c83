/* session_pins.h - decisions that a session has from files: --pins, and the model's own.
 *
 * A file of pins is a plan file, shardings in another system's text, or an annotated .onnx. One of
 * which nothing fits the model is an error.
 */
#ifndef CORE_SESSION_SESSION_PINS_H
#define CORE_SESSION_SESSION_PINS_H

#include "core/session/session.h"

/* From options.pins, if given. again: the policy was run again, and the user's decisions are still
 * there. */
bool session_read_pins(Session *session, bool again, Journal *journal, Error *err);
/* The same; pins that can no longer be read are a warning, and the policy goes on. */
void session_read_pins_again(Session *session, Journal *journal);

/* The annotations in the model's own file hold if nothing else is asked for. */
bool session_read_own_annotations(Session *session, Journal *journal, Error *err);

#endif

/* session_pins.h - decisions that a session has from files: --pins, and the model's own.
 *
 * A file of pins is a plan file, shardings in another system's text, or an annotated .onnx. One of
 * which nothing fits the model is an error.
 */
#ifndef CORE_SESSION_SESSION_PINS_H
#define CORE_SESSION_SESSION_PINS_H

#include "core/session/session.h"

/* Of options.pins, if there is one. again: a policy was run anew, and what is the user's is still
 * there. */
bool session_read_pins(Session *session, bool again, Journal *journal, Error *err);
/* The same; what can no longer be read is a warning, and the policy goes on. */
void session_read_pins_again(Session *session, Journal *journal);

/* What the model's own file says of devices holds where nobody says anything else. */
bool session_read_own_annotations(Session *session, Journal *journal, Error *err);

#endif

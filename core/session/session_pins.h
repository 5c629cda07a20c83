/* session_pins.h - reads decisions from files: --pins, and the model's own file.
 *
 * A file of pins is a plan file, shardings in another system's notation, or an annotated .onnx. A
 * file of which nothing fits the model is an error.
 */
#ifndef CORE_SESSION_SESSION_PINS_H
#define CORE_SESSION_SESSION_PINS_H

#include "core/session/session.h"

/* Reads options.pins, if given. again: the policy was run again, and the journal already has the
 * user's decisions. */
bool session_read_pins(Session *session, bool again, Journal *journal, Error *err);
/* The same, but if the pins can no longer be read, this is only a warning and the policy's
 * decisions stay. */
void session_read_pins_again(Session *session, Journal *journal);

/* Reads the annotations in the model's own file, which apply unless the user gave a policy, pins or
 * a plan. */
bool session_read_own_annotations(Session *session, Journal *journal, Error *err);

#endif

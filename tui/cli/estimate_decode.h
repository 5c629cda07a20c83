/* estimate_decode.h - the page of `estimate --decode`: inference with a KV cache. */
#ifndef TUI_CLI_ESTIMATE_DECODE_H
#define TUI_CLI_ESTIMATE_DECODE_H

#include "core/summary/decode.h"
#include "tui/cli/cli.h"

/* Appends the page, or its JSON, to cli->out; session: for the step that --decode asks for. Returns
 * the exit code: CLI_ILLEGAL if the step does not fit or its plan is illegal. */
int estimate_decode(Cli *cli, const Session *session, DecodeAsked asked);

#endif

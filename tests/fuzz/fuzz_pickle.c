/* fuzz_pickle.c - any bytes as a pickle: JSON, or an error. */
#include "core/base/pickle.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Source source = {"fuzz", {(const char *)data, size}};
    Error err = {0};
    Json *json = pickle_read(&source, &err);
    if (!json != error_is_set(&err))
        abort();
    json_free(json);
    return 0;
}

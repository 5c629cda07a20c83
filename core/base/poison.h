/* poison.h - marks memory that is not to be used, where ASan watches; nothing elsewhere. */
#ifndef CORE_BASE_POISON_H
#define CORE_BASE_POISON_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESSES_ARE_WATCHED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ADDRESSES_ARE_WATCHED
#endif

#ifdef ADDRESSES_ARE_WATCHED
#include <sanitizer/asan_interface.h>
enum { MEMORY_IS_POISONED = 1 };
#else
enum { MEMORY_IS_POISONED = 0 };
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#endif

#endif

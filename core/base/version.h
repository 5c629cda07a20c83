/* version.h - the version of the program. */
#ifndef CORE_BASE_VERSION_H
#define CORE_BASE_VERSION_H

#define DIMSCOPE_VERSION "0.1"

#endif

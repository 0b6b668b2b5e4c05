/*
 * module.c
 *	  Module magic and the settings of the extension.
 */
#include "postgres.h"

#include "fmgr.h"

PG_MODULE_MAGIC;

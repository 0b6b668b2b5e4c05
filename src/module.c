/*
 * module.c
 *	  Module magic and the settings of the extension.
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "utils/guc.h"

#include "memory.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

int			ff_ram_setting = 0;

void
_PG_init(void)
{
	DefineCustomIntVariable("fillfactor_advisor.ram",
							"Memory that tables are compared with.",
							"0 detects the machine's memory or the container's limit; see ff_memory().",
							&ff_ram_setting,
							0, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MB,
							NULL, NULL, NULL);

	MarkGUCPrefixReserved("fillfactor_advisor");
}

/*
 * settings.h
 *	  The settings (fillfactor_advisor.*) that module.c defines.
 */
#ifndef FF_SETTINGS_H
#define FF_SETTINGS_H

/* collect.c */
extern int	collect_pages;		/* pages read at most by one collection */
extern int	collect_time;		/* seconds after which it begins no table */
extern int	prune_batches;		/* batches of pruning a collection */

#endif							/* FF_SETTINGS_H */

/*
 * settings.h
 *	  The settings (fillfactor_advisor.*) that module.c defines.
 */
#ifndef FF_SETTINGS_H
#define FF_SETTINGS_H

/* collect.c */
extern int	ff_collect_pages;	/* pages read at most by one collection */
extern int	ff_collect_time;	/* seconds after which it begins no table */
extern int	ff_prune_batches;	/* batches of pruning a collection */

/* window.c */
extern int	ff_lookback;	/* seconds that advice looks back */

/* memory.c */
extern int	ff_ram_setting;	/* MB; 0: detect */

/* model.c */
extern int	ff_payback_time;	/* seconds a choice is made for */
extern double ff_time_weight;	/* exponents of the cost */
extern double ff_wal_weight;
extern double ff_size_weight;
extern double ff_storage_weight;	/* 0: unused space in pages costs nothing */
extern double ff_min_gain;		/* percent of the cost */
extern int	ff_min_updates;		/* below which too little was seen */
extern double ff_page_read_cost;	/* microseconds, 0: measured or assumed */

#endif							/* FF_SETTINGS_H */

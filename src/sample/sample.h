/*
 * sample.h
 *	  Page samples of one relation, for other stages.
 */
#ifndef FF_SAMPLE_H
#define FF_SAMPLE_H

#include "storage/block.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "sample/strata.h"

/* Settings, defined in module.c */
extern int	ff_sample_pages;
extern double ff_sample_error;
extern double ff_sample_delay;
extern int	ff_sample_seed;

/* Gets a private, MAXALIGNed copy of each page read. */
typedef void (*FfPageCallback) (void *arg, int position, BlockNumber block,
								const char *page);

extern void ff_read_pages(Relation rel, BufferAccessStrategy strategy,
						  const BlockNumber *block, int nblocks,
						  FfPageCallback callback, void *arg);
extern void ff_read_sample(Relation rel, FfStrata *strata, int nmetrics,
						   const int *exact_metric, int nexact,
						   FfPageCallback callback, void *arg);
extern Relation ff_open_for_sample(Oid relid);

#endif							/* FF_SAMPLE_H */

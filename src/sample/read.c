/*
 * read.c
 *	  Reads chosen pages of a relation without disturbing others.
 *
 * The relation is locked in ACCESS SHARE mode, at once or not at all.  A page is
 * share-locked only while it is copied; the copy is parsed, so no hint bit is set
 * and no buffer is dirtied.  Pages that are not in shared buffers are read through
 * a small ring and do not evict others.  No pin is held while sleeping.
 *
 * While the lock is held no command can truncate the relation, so every chosen
 * block exists.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/spccache.h"

#include "base/module.h"
#include "sample/sample.h"

/* Pages between two sleeps, and the unit of fillfactor_advisor.sample_delay. */
#define FF_PAGES_PER_NAP 100

/* Whether this database is a mirror in which the relation stands for one of the source. */
static bool
is_mirrored(Oid relid)
{
	/* not by SQL: a role that may only sample has no right to read this table */
	Relation	observed = table_open(get_relname_relid("observed",
														get_namespace_oid("ff_internal", false)),
									  AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	bool		found;

	/* its second column is the OID */
	ScanKeyInit(&key, 2, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(observed, InvalidOid, false, NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(observed, AccessShareLock);
	return found;
}

/*
 * Locks and opens the relation of a sampling function's first argument, without
 * waiting.  The caller closes it with relation_close(rel, AccessShareLock): pages
 * are read without a snapshot, so nothing needs the lock afterwards.
 */
Relation
ff_open_for_sample(FunctionCallInfo fcinfo, const char *argument)
{
	Oid			relid;
	Relation	rel;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", argument)));
	relid = PG_GETARG_OID(0);
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		char	   *name = get_rel_name(relid);

		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 name != NULL ?
				 errmsg("could not obtain lock on relation \"%s\"", name) :
				 errmsg("could not obtain lock on relation with OID %u", relid),
				 errdetail("Another session holds or awaits an ACCESS EXCLUSIVE lock on it."),
				 errhint("Try again later.")));
	}
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
	{
		UnlockRelationOid(relid, AccessShareLock);
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	}

	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot sample temporary table \"%s\" of another session",
						RelationGetRelationName(rel)),
				 errdetail("Its pages are in the memory of that session.")));
	if (RecoveryInProgress() && rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot sample unlogged relation \"%s\" during recovery",
						RelationGetRelationName(rel)),
				 errdetail("A standby has no copy of its pages.")));
	if (is_mirrored(relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot sample \"%s\" in a mirror", RelationGetRelationName(rel)),
				 errdetail("A mirror has no pages: it only reads what its source counts."),
				 errhint("Install the extension on the source, or on a copy of it.")));
	return rel;
}

/* Copies the page under a share lock and releases it. */
static void
copy_and_release(Buffer buffer, char *copy)
{
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

#ifdef FF_HAVE_READ_STREAM

typedef struct FfStreamPosition
{
	const BlockNumber *next;
	const BlockNumber *end;
} FfStreamPosition;

static BlockNumber
next_block(ReadStream *stream, void *callback_private_data, void *per_buffer_data)
{
	FfStreamPosition *position = (FfStreamPosition *) callback_private_data;

	return position->next < position->end ? *position->next++ : InvalidBlockNumber;
}

static void
read_batch(FfSample *sample, BufferAccessStrategy strategy, const BlockNumber *block, int nblocks,
		   FfPageCallback callback)
{
	FfStreamPosition position = {block, block + nblocks};
	PGAlignedBlock copy;
	ReadStream *stream;

	stream = read_stream_begin_relation(READ_STREAM_MAINTENANCE | READ_STREAM_USE_BATCHING, strategy,
										sample->rel, MAIN_FORKNUM, next_block, &position, 0);
	for (int i = 0; i < nblocks; i++)
	{
		CHECK_FOR_INTERRUPTS();
		copy_and_release(read_stream_next_buffer(stream, NULL), copy.data);
		callback(sample, block[i], copy.data);
	}
	read_stream_end(stream);
}

#else							/* no read streams: prefetch by hand */

static void
read_batch(FfSample *sample, BufferAccessStrategy strategy, const BlockNumber *block, int nblocks,
		   FfPageCallback callback)
{
	Relation	rel = sample->rel;
	int			ahead = get_tablespace_maintenance_io_concurrency(rel->rd_rel->reltablespace);
	int			prefetched = 0;
	PGAlignedBlock copy;

	for (int i = 0; i < nblocks; i++)
	{
		CHECK_FOR_INTERRUPTS();
		prefetched = Max(prefetched, i + 1);
		while (prefetched < nblocks && prefetched <= i + ahead)
			PrefetchBuffer(rel, MAIN_FORKNUM, block[prefetched++]);
		copy_and_release(ReadBufferExtended(rel, MAIN_FORKNUM, block[i], RBM_NORMAL, strategy),
						 copy.data);
		callback(sample, block[i], copy.data);
	}
}

#endif							/* FF_HAVE_READ_STREAM */

/*
 * Reads these blocks, which are in ascending order, and calls back for each.  Sleeps
 * fillfactor_advisor.sample_delay after every 100 pages, counted over all relations
 * that this session samples.  Read errors are the server's own.
 */
static void
read_pages(FfSample *sample, BufferAccessStrategy strategy, const BlockNumber *block, int nblocks,
		   FfPageCallback callback)
{
	static int	pages_since_nap = 0;

	while (nblocks > 0)
	{
		int			n = nblocks;

		if (ff_sample_delay > 0)
		{
			if (pages_since_nap >= FF_PAGES_PER_NAP)
			{
				pages_since_nap = 0;
				ff_nap(Max(1, ff_sample_delay));
			}
			n = Min(nblocks, FF_PAGES_PER_NAP - pages_since_nap);
			pages_since_nap += n;
		}
		read_batch(sample, strategy, block, n, callback);
		block += n;
		nblocks -= n;
	}
}

/*
 * Reads a sample of the relation in two steps; the callback must call
 * ff_count_page().  The second step makes the means of exact_metric[], in bytes per
 * page, as exact as the settings demand.
 */
void
ff_read_sample(FfSample *sample, int nmetrics, const int *exact_metric, int nexact,
			   FfPageCallback callback)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	FfStrata   *strata = &sample->strata;
	BlockNumber *block;
	int			nblocks;

	ff_strata_begin(strata, RelationGetNumberOfBlocks(sample->rel), nmetrics,
					ff_sample_seed != 0 ? (uint32) ff_sample_seed :
					pg_prng_uint32(&pg_global_prng_state));
	nblocks = ff_strata_first(strata, ff_sample_pages, &block);
	read_pages(sample, strategy, block, nblocks, callback);
	nblocks = ff_strata_second(strata, exact_metric, nexact, ff_sample_error / 100 * BLCKSZ,
							   ff_sample_pages, &block);
	read_pages(sample, strategy, block, nblocks, callback);
	FreeAccessStrategy(strategy);
}

/* Counts one page.  Returns its stratum. */
int
ff_count_page(FfSample *sample, BlockNumber block, FfPageState state, const double *metric)
{
	sample->pages_new += state == FF_PAGE_NEW;
	sample->pages_bad += state == FF_PAGE_BAD;
	return ff_strata_add(&sample->strata, block, metric);
}

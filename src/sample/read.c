/*
 * read.c
 *	  Reads chosen pages of a relation and disturbs nobody.
 *
 * The relation is locked in ACCESS SHARE mode, at once or not at all.  A page
 * is locked in share mode for as long as it takes to copy it; what is parsed
 * is the copy, so no hint bit is set and no buffer is dirtied.  Pages that
 * are not in shared buffers come in through a small ring and do not push
 * others out.  No pin is held while sleeping.
 *
 * With the lock held no command can truncate the relation, so that no chosen
 * block lies past its end.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/spccache.h"

#include "compat.h"
#include "sample/sample.h"

/* Pages between two sleeps, and the unit of fillfactor_advisor.sample_delay. */
#define FF_PAGES_PER_NAP 100

/*
 * Locks and opens a relation for reading its pages, without waiting.
 *
 * The caller closes it with relation_close(rel, AccessShareLock): pages are
 * read without a snapshot, so nothing needs the lock afterwards.
 */
Relation
ff_open_for_sample(Oid relid)
{
	Relation	rel;

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
	if (RecoveryInProgress() &&
		rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot sample unlogged relation \"%s\" during recovery",
						RelationGetRelationName(rel)),
				 errdetail("A standby has no copy of its pages.")));
	return rel;
}

/* Copies the page under a share lock, lets go of it, hands on the copy. */
static void
copy_and_release(Buffer buffer, int position, BlockNumber block,
				 FfPageCallback callback, void *arg)
{
	PGAlignedBlock copy;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	callback(arg, position, block, copy.data);
}

#ifdef FF_HAVE_READ_STREAM

typedef struct FfStreamPosition
{
	const BlockNumber *block;
	int			nblocks;
	int			next;
} FfStreamPosition;

static BlockNumber
next_block(ReadStream *stream, void *callback_private_data,
		   void *per_buffer_data)
{
	FfStreamPosition *position = (FfStreamPosition *) callback_private_data;

	if (position->next >= position->nblocks)
		return InvalidBlockNumber;
	return position->block[position->next++];
}

static void
read_batch(Relation rel, BufferAccessStrategy strategy,
		   const BlockNumber *block, int first, int end,
		   FfPageCallback callback, void *arg)
{
	FfStreamPosition position = {block, end, first};
	ReadStream *stream;

	stream = read_stream_begin_relation(FF_READ_STREAM_FLAGS, strategy, rel,
										MAIN_FORKNUM, next_block, &position, 0);
	for (int i = first; i < end; i++)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = read_stream_next_buffer(stream, NULL);
		copy_and_release(buffer, i, block[i], callback, arg);
	}
	read_stream_end(stream);
}

#else							/* no read streams: prefetch by hand */

static void
read_batch(Relation rel, BufferAccessStrategy strategy,
		   const BlockNumber *block, int first, int end,
		   FfPageCallback callback, void *arg)
{
	Oid			tablespace = rel->rd_rel->reltablespace;
	int			ahead = get_tablespace_maintenance_io_concurrency(tablespace);
	int			prefetched = first;

	for (int i = first; i < end; i++)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		if (prefetched <= i)
			prefetched = i + 1;
		while (prefetched < end && prefetched <= i + ahead)
			PrefetchBuffer(rel, MAIN_FORKNUM, block[prefetched++]);
		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block[i], RBM_NORMAL,
									strategy);
		copy_and_release(buffer, i, block[i], callback, arg);
	}
}

#endif							/* FF_HAVE_READ_STREAM */

static void
nap(double milliseconds)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 Max(1L, (long) milliseconds), PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/*
 * Reads these blocks, in ascending order, and calls back for each.  Sleeps
 * fillfactor_advisor.sample_delay before every 100 pages, counted over all
 * relations that this session samples.  A read error is raised as the server
 * raises it.
 */
void
ff_read_pages(Relation rel, BufferAccessStrategy strategy,
			  const BlockNumber *block, int nblocks,
			  FfPageCallback callback, void *arg)
{
	static int	pages_since_nap = 0;

	for (int first = 0; first < nblocks;)
	{
		int			end = nblocks;

		if (ff_sample_delay > 0)
		{
			if (pages_since_nap >= FF_PAGES_PER_NAP)
			{
				pages_since_nap = 0;
				nap(ff_sample_delay);
			}
			end = Min(nblocks, first + FF_PAGES_PER_NAP - pages_since_nap);
			pages_since_nap += end - first;
		}
		read_batch(rel, strategy, block, first, end, callback, arg);
		first = end;
	}
}

/*
 * Reads a sample of the relation in two steps; the callback adds each page to
 * strata, which this function begins.  The second step makes the means of
 * exact_metric[], in bytes per page, as exact as the settings want them.
 */
void
ff_read_sample(Relation rel, FfStrata *strata, int nmetrics,
			   const int *exact_metric, int nexact,
			   FfPageCallback callback, void *arg)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	uint64		seed = ff_sample_seed != 0 ? (uint64) ff_sample_seed :
		pg_prng_uint64(&pg_global_prng_state);
	BlockNumber *block;
	int			nblocks;

	ff_strata_begin(strata, RelationGetNumberOfBlocks(rel), nmetrics, seed);
	nblocks = ff_strata_first(strata, ff_sample_pages, &block);
	ff_read_pages(rel, strategy, block, nblocks, callback, arg);
	nblocks = ff_strata_second(strata, exact_metric, nexact,
							   ff_sample_error / 100 * BLCKSZ,
							   ff_sample_pages, &block);
	ff_read_pages(rel, strategy, block, nblocks, callback, arg);
	FreeAccessStrategy(strategy);
}

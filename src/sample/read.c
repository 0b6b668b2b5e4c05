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

/*
 * Reads these blocks, which are in ascending order, and calls back for each.  Prefetches as the
 * server does for maintenance.  Counts the pages between sleeps over all relations that this
 * session samples.  Read errors are the server's own.
 */
static void
read_pages(FfSample *sample, BufferAccessStrategy strategy, const BlockNumber *block, int nblocks,
		   FfPageCallback callback)
{
	static int	pages_since_nap = 0;
	Relation	rel = sample->rel;
	int			ahead = get_tablespace_maintenance_io_concurrency(rel->rd_rel->reltablespace);
	int			prefetched = 0;
	PGAlignedBlock copy;

	for (int i = 0; i < nblocks; i++)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		if (ff_sample_delay > 0 && ++pages_since_nap > FF_PAGES_PER_NAP)
		{
			pages_since_nap = 1;
			ff_nap(Max(1, ff_sample_delay));
		}
		for (prefetched = Max(prefetched, i + 1); prefetched < nblocks && prefetched <= i + ahead;)
			PrefetchBuffer(rel, MAIN_FORKNUM, block[prefetched++]);
		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block[i], RBM_NORMAL, strategy);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
		UnlockReleaseBuffer(buffer);
		callback(sample, block[i], copy.data);
	}
}

/*
 * Reads a sample of the relation in two steps; the callback must call
 * ff_strata_add().  The second step makes the means of exact_metric[], in bytes per
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

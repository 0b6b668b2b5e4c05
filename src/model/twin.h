/*
 * twin.h
 *	  A digital twin of a heap table: up to eight classes of statements replayed
 *	  together on simulated pages.
 *
 * The same workload and seed give the same result on every machine with IEEE doubles.  It
 * counts bytes and line pointers; there are no tuples.  Time is counted in row
 * updates of the table ("ticks"); if a workload has no update, in rows written.
 */
#ifndef FF_MODEL_TWIN_H
#define FF_MODEL_TWIN_H

#include <stdint.h>

#include "model/evidence.h"

#define TW_BLCKSZ		8192	/* bytes in a page */
#define TW_PAGE_HEADER	24		/* bytes, SizeOfPageHeaderData */
#define TW_ITEMID		4		/* bytes, sizeof(ItemIdData) */
#define TW_MAX_TUPLES	291		/* MaxHeapTuplesPerPage at 8 kB */
#define TW_MAX_LEN		8160	/* bytes, MaxHeapTupleSize */
#define TW_MIN_LEN		24		/* bytes, MAXALIGN(SizeofHeapTupleHeader) */
#define TW_MIN_FF		10
#define TW_MAX_FF		100

#define TW_CLASSES		8
#define TW_PAGES		8192	/* pages that one run may use */
#define TW_ROWS			16384	/* rows it can pick from, the newest ones; a power of 2 */
#define TW_DEAD			32768	/* dead versions not yet pruned */
#define TW_TURNS		4		/* most updates of a new row by one TW_IN_TURN class */
#define TW_QUANTILES	64		/* resolution of the row lengths */

#define TW_MAXALIGN(len)	(((int) (len) + 7) & ~7)

/* Which rows a class picks. */
typedef enum TwinPick
{
	TW_ANY,						/* at random */
	TW_SKEWED,					/* some rows far more often than others */
	TW_NEWEST,					/* at random, "near" to "distance" rows behind the newest */
	TW_IN_TURN,					/* each row inserted, "distance" rows later */
	TW_SWEEP,					/* all rows in order, again and again */
	TW_OLDEST					/* the oldest (deletes) */
} TwinPick;

typedef struct TwinClass
{
	EvCommand	command;		/* EV_INSERT, EV_UPDATE or EV_DELETE */
	double		rate;			/* rows a tick */
	double		rows;			/* rows of one transaction, >= 1 */
	double		calls;			/* statements in one transaction, >= 1: only reported */
	TwinPick	pick;
	double		distance;		/* rows, see TwinPick */
	double		near;
	double		skew;			/* exponent of the power law, 1 is Zipf's */
	double		stride;			/* from one of its rows to the next; 1: neighbours, 0:
								 * each row is picked by itself */
	int			all_rows;		/* a transaction takes every "stride"-th row of the whole table:
								 * TW_SWEEP other rows each time, TW_ANY always the same */
	double		indexed;		/* 0..1, share of updates that change an indexed column */
	int			apart;			/* TW_ANY, TW_SKEWED: any row may be its first; else the same rows
								 * are taken together each time */
	int			resizes;		/* its updates change the length of rows */
	double		once;			/* one transaction at this tick, not counted; 0: again and again */
} TwinClass;

typedef struct TwinWorkload
{
	int			nclasses;
	TwinClass	class[TW_CLASSES];
	/* quantiles of MAXALIGNed row lengths, ascending */
	int16_t		insert_len[TW_QUANTILES];
	int16_t		update_len[TW_QUANTILES];
	/* when dead versions are removed */
	double		lag;			/* mean age of the oldest snapshot, transactions */
	double		held;			/* transactions for which a snapshot is held, 0: none is */
	double		held_share;		/* 0..1, share of the time during which one is held */
	double		held_from;		/* ticks; one more snapshot is held once between them */
	double		held_until;
	double		vacuum_share;	/* dead / live rows at which vacuum runs */
	double		vacuum_gap;		/* least ticks per live row between vacuums; negative: off */
	double		start_rows;		/* rows loaded at first */
	double		between;		/* rows that nobody touches after each of these */
} TwinWorkload;

/* What was counted since ff_twin_count_from_here(). */
typedef struct TwinCount
{
	double		updates;
	double		hot;			/* heap-only */
	double		moved;			/* went to another page */
	double		blocked;		/* stayed in its page, not HOT: an indexed column changed */
	double		inserts;
	double		deletes;
	double		prunes;			/* pages pruned on access */
	double		touched;		/* pages changed by a transaction, summed */
	double		images;			/* of these, changed for the first time since a checkpoint */
	double		update_bytes;	/* of rows written to another page */
	double		vacuums;
} TwinCount;

typedef struct TwinPage
{
	int32_t		gap;			/* bytes between pd_lower and pd_upper */
	int32_t		dead_head;		/* oldest dead version; -1: none */
	int32_t		dead_tail;
	uint32_t	touched;		/* last transaction that changed it */
	float		changed;		/* ticks of the last change, -INFINITY: long ago */
	int16_t		nline;			/* line pointers */
	int16_t		nunused;		/* of these, unused */
	int16_t		ndead;			/* of these, LP_DEAD */
	int16_t		ncold;			/* of these, rows that nobody touches */
	uint8_t		full;			/* PD_PAGE_FULL */
	uint8_t		fsm;			/* free space map category */
} TwinPage;

typedef struct TwinRow
{
	uint32_t	born;			/* transaction of its insert */
	uint32_t	xmin;			/* transaction of its newest version */
	int16_t		page;			/* -1: deleted */
	int16_t		len;
	uint8_t		quantile;		/* of the row lengths */
	uint8_t		heaponly;		/* newest version is heap-only */
	uint8_t		updates;		/* saturates at 255 */
} TwinRow;

typedef struct TwinDead
{
	uint32_t	xid;			/* transaction that made it dead */
	int32_t		next;
	int16_t		len;
	uint8_t		frees_lp;		/* heap-only: its line pointer becomes unused */
	uint8_t		ends_chain;		/* leaves an LP_DEAD behind */
	uint8_t		deleted;		/* no newer version followed */
} TwinDead;

typedef struct Twin
{
	TwinWorkload	workload;
	uint64_t	rng;
	int			reserve;		/* bytes that inserts leave free */
	int			prune_below;	/* prune on access under this many free bytes */
	int			npages;
	int			fsm_next;		/* where the next search begins */
	int			fsm_most;		/* no page has a higher category */
	int			target;			/* page inserted into last, -1: none */
	int			visiting;		/* page that the statement reads; -1: none */
	int			dead_free;		/* free list of dead[] */
	int			dead_used;		/* dead[] entries ever used */
	int64_t		ndead;			/* dead versions */
	int64_t		ndead_lps;
	uint32_t	xid;
	uint32_t	oldest;			/* versions that died before it can be pruned */
	uint32_t	held_xid;		/* last transaction before held_from */
	double		advance;		/* probability that a transaction moves "oldest" */
	int64_t		first_row;		/* oldest row id remembered */
	int64_t		next_row;
	int64_t		nlive;			/* live rows, forgotten ones included */
	int64_t		nforgotten;
	int64_t		ncold;			/* rows that nobody touches, not in row[] */
	double		now;			/* ticks */
	double		last_vacuum;	/* ticks */
	double		checkpoint;		/* ticks from one checkpoint to the next, 0: unknown */
	double		near_checkpoint;	/* the same for classes that return to pages soon after an insert */
	double		since;			/* the one of these for the current transaction */
	double		spare_pages;	/* pages of rows that nobody touches, not yet used */
	int			spare_bytes;	/* free in each of them, known to the free space map */
	double		spare_used;		/* pages of these that are in page[] now */
	double		interval[TW_CLASSES];	/* start of the interval of its next transaction */
	double		due[TW_CLASSES];	/* time of that transaction */
	int64_t		position[TW_CLASSES];	/* where a sweep continues */
	int			turn_now[TW_CLASSES];	/* whose turn it is */
	int64_t		turn[TW_CLASSES][TW_TURNS]; /* row that each turn takes next */
	int			exhausted;		/* simulated pages or versions are used up */
	TwinCount	count;
	/* only the used parts of these are copied */
	TwinPage	page[TW_PAGES];
	TwinRow		row[TW_ROWS];
	TwinDead	dead[TW_DEAD];
	/* scratch: rows ordered by page, and where those of each page end */
	int16_t		order[TW_ROWS];
	int32_t		page_end[TW_PAGES + 1];
	int16_t		page_cold[TW_PAGES];
} Twin;

/* What the pages show, in the figures of a page sample. */
typedef struct TwinView
{
	double		rows;			/* live, without forgotten ones */
	double		cold;			/* that nobody touches */
	double		pages;			/* with rows of either kind */
	double		rows_per_page_max;
	double		updated_rows;
	double		group_old_page[EV_GROUP_BINS];
	double		group_new_page[EV_GROUP_BINS];
	double		update_distance[EV_LOG2_BINS];
	double		update_age[EV_LOG2_BINS];
} TwinView;

/*
 * Rows of MAXALIGNed length "len" that inserts put on a page at a fillfactor:
 * floor((8168 - floor(8192*(100-F)/100)) / (len+4)), at least 1, at most 291.
 */
extern int	ff_twin_rows_per_page(int fillfactor, int len);

/* The highest fillfactor with the same rows per page: the edge of its step. */
extern int	ff_twin_step_edge(int fillfactor, int len);

/* Load the first rows at a fillfactor.  Values out of range are clamped. */
extern void ff_twin_start(Twin *t, const TwinWorkload *workload, int fillfactor, uint64_t seed);

/* Sets what inserts leave free and at how little free space pages are pruned. */
extern void ff_twin_set_fillfactor(Twin *t, int fillfactor);

/* Writes all live rows to new pages at this fillfactor, in the order of a sequential scan
 * (VACUUM FULL), except forgotten ones. */
extern void ff_twin_rewrite(Twin *t, int fillfactor);

/*
 * Runs for this many ticks; always ends.  Calls ff_twin_check() before each transaction
 * unless it is NULL; it may raise an error, as CHECK_FOR_INTERRUPTS() does.
 */
extern void ff_twin_run(Twin *t, double ticks);
extern void (*ff_twin_check) (void);

extern void ff_twin_count_from_here(Twin *t);

extern void ff_twin_copy(Twin *to, const Twin *from);

extern void ff_twin_look(Twin *t, TwinView *view);

#endif							/* FF_MODEL_TWIN_H */

/*
 * heap_twin.h
 *	  A digital twin of a heap table: a lifecycle replayed on simulated pages.
 *
 * Pure C: no server calls, no allocation (the caller supplies a HeapTwin),
 * the same result for the same lifecycle and seed on every machine with IEEE
 * doubles.  It counts bytes, line pointers and decisions; there are no
 * tuples.  What it leaves out: aborted updates, toast, page contention
 * between more sessions than TWIN_MAX_STREAMS.
 */
#ifndef FF_HEAP_TWIN_H
#define FF_HEAP_TWIN_H

#include <stdint.h>

#define TWIN_BLCKSZ			8192	/* bytes in a page */
#define TWIN_PAGE_HEADER	24		/* bytes, SizeOfPageHeaderData */
#define TWIN_ITEMID			4		/* bytes, sizeof(ItemIdData) */
#define TWIN_MAX_TUPLES		291		/* MaxHeapTuplesPerPage at 8 kB */
#define TWIN_MAX_TUPLE_SIZE 8160	/* bytes, MaxHeapTupleSize */
#define TWIN_MIN_TUPLE_SIZE 24		/* bytes, MAXALIGN(SizeofHeapTupleHeader) */
#define TWIN_MIN_FILLFACTOR 10
#define TWIN_MAX_FILLFACTOR 100

#define TWIN_MAX_PAGES		1024	/* pages one run may use */
#define TWIN_MAX_ROWS		32768	/* live rows it can pick from; power of 2 */
#define TWIN_MAX_DEAD		65536	/* dead versions not yet pruned */
#define TWIN_MAX_STREAMS	8		/* sessions that insert side by side */
#define TWIN_SKEW_BINS		256		/* resolution of the skewed pick */
#define TWIN_MAX_TURNS		16		/* updates that come to a row in turn */
#define TWIN_MAX_TIMES		16		/* updates of a row in one transaction */

#define TWIN_MAXALIGN(len)	(((int) (len) + 7) & ~7)

/*
 * What happens to the rows of one table.  Widths are tuple lengths with
 * header (t_len) and need not be aligned: a mean that is no multiple of 8 is
 * replayed as a mix of the two neighbours, so pass MAXALIGNed means.
 * Transactions are those that write this table.
 */
typedef struct TwinLifecycle
{
	/* rows */
	double		insert_len;		/* bytes of a row when inserted */
	double		update_len;		/* bytes of a row that has stopped growing */
	double		grow_updates;	/* updates until update_len is reached, >= 1 */

	/* what a transaction does */
	double		insert_rows;	/* rows inserted by one transaction, >= 1 */
	double		update_rows;	/* neighbouring rows updated by one, >= 1 */
	int			times;			/* how often it updates each of them, >= 1 */
	double		inserts_per_update; /* rows inserted per row updated */
	double		deletes_per_update; /* rows deleted per row updated */
	double		hot_eligible;	/* 0..1, updates that touch no indexed column */

	/* which rows it picks */
	double		fresh_share;	/* 0..1, updates of recently inserted rows */
	double		fresh_distance; /* rows: these are among the last this many */
	int			in_turn;		/* these take rows in turn, each as often, the last
								 * time at that distance; 0: at random within it */
	double		skew;			/* the others: 0 uniform, 1 zipf-like */
	double		delete_oldest;	/* 0..1, deletes that take the oldest row */

	/* when dead versions go */
	double		lag;			/* mean age of the oldest snapshot, transactions */
	double		held;			/* transactions one snapshot is held, 0 none */
	double		held_share;		/* 0..1, share of the time one is held */
	double		vacuum_share;	/* dead / live rows at which vacuum runs */
	double		vacuum_gap;		/* but not before this many row updates per
								 * live row; negative: never */

	/* sessions */
	int			streams;		/* sessions with an insert page of their own */

	/* course of the run */
	double		start_rows;		/* rows loaded before the first update */
	int			start_fillfactor;	/* they were loaded at; 0: the one replayed */
	double		start_updates;	/* row updates of the warm-up made at that one, too */
	double		warmup;			/* row updates before counting begins */
	double		measure;		/* row updates counted */
} TwinLifecycle;

/* What was counted; rows and updates of the counted phase unless said. */
typedef struct TwinResult
{
	double		updates;
	double		hot;			/* heap-only */
	double		moved;			/* went to another page */
	double		same_page_cold; /* an indexed column changed */
	double		inserts;
	double		deletes;
	double		new_pages;		/* pages the table was extended by */
	double		prunes;			/* pages pruned on access */
	double		update_prunes;	/* of these, when a row was to be updated */
	double		vacuums;
	/* at the end */
	double		pages;
	double		rows;			/* live, forgotten ones included */
	double		dead_versions;	/* not yet pruned */
	double		dead_lps;		/* line pointers waiting for vacuum */
	double		full_pages;		/* pages with the page-full hint */
	double		judged_rows;	/* live rows that had their chance to be updated:
								 * those inserted in the run, but for the last */
	double		updated_rows;	/* of these, updated at least once */
	double		live_bytes;
	double		free_bytes;		/* between line pointers and rows: not logged in
								 * full-page images */
	double		cold_all;		/* not HOT, those before counting began included */
	int			truncated;		/* stopped early: ran out of simulated pages */
} TwinResult;

typedef struct TwinPage
{
	int32_t		gap;			/* bytes between pd_lower and pd_upper */
	int16_t		nline;			/* line pointers */
	int16_t		nunused;		/* of these, unused */
	int16_t		ndead;			/* of these, LP_DEAD */
	uint8_t		full;			/* PD_PAGE_FULL */
	uint8_t		fsm;			/* free space map category */
	int32_t		dead_head;		/* oldest dead version, -1 none */
	int32_t		dead_tail;
} TwinPage;

typedef struct TwinRow
{
	int16_t		page;			/* -1: deleted */
	int16_t		len;
	uint8_t		heaponly;		/* newest version is heap-only */
	uint8_t		updates;		/* saturates at 255 */
} TwinRow;

typedef struct TwinDead
{
	uint32_t	xid;			/* who made it dead */
	int32_t		next;
	int16_t		len;
	uint8_t		frees_lp;		/* heap-only: its line pointer becomes unused */
	uint8_t		ends_chain;		/* leaves an LP_DEAD behind */
} TwinDead;

typedef struct HeapTwin
{
	TwinPage	page[TWIN_MAX_PAGES];
	TwinRow		row[TWIN_MAX_ROWS];
	TwinDead	dead[TWIN_MAX_DEAD];
	float		skew_quantile[TWIN_SKEW_BINS + 1];

	const TwinLifecycle *life;
	uint64_t	rng;
	int			reserve;		/* bytes inserts leave free */
	int			prune_below;	/* prune on access under this many free bytes */
	int			npages;
	int			fsm_next;		/* where the next search begins */
	int			target[TWIN_MAX_STREAMS];
	int			dead_free;		/* free list of dead[] */
	int			dead_used;		/* dead[] entries ever used */
	int64_t		ndead_versions;
	int64_t		ndead_lps;
	uint32_t	xid;
	uint32_t	oldest_xid;		/* versions dead since before it are prunable */
	double		advance;		/* chance that a transaction moves it */
	int64_t		first_row;		/* oldest row id remembered */
	int64_t		next_row;
	int			turns;			/* updates that come to each row in turn */
	double		turn_share;		/* of the rows, that each of them takes */
	int			turn_now;		/* the one whose turn it is */
	int64_t		turn[TWIN_MAX_TURNS];	/* row each of them takes next */
	int64_t		nlive;			/* live rows, forgotten ones included */
	int64_t		nforgotten;
	int64_t		updates_since_vacuum;
	int			exhausted;
	TwinResult	count;
} HeapTwin;

/*
 * Rows of maxaligned length "len" that inserts put on a page at a fillfactor:
 * floor((8168 - floor(8192*(100-F)/100)) / (len+4)), at least 1, at most 291.
 */
extern int	twin_rows_per_page(int fillfactor, int len);

/*
 * The highest fillfactor with the same rows per page as "fillfactor": the only
 * one of its step worth naming.
 */
extern int	twin_step_edge(int fillfactor, int len);

/*
 * Replay "life" at "fillfactor" and report what was counted.  Values out of
 * range are clamped; the run is always finite.
 */
extern void twin_run(HeapTwin *twin, const TwinLifecycle *life, int fillfactor,
					 uint64_t seed, TwinResult *result);

/*
 * The same with seeds of its own, and as often as needed for some hundreds of
 * updates: updates, hot, moved, prunes, update_prunes, pages, rows, judged_rows and
 * updated_rows are sums over these replays, the rest is of the first.
 */
extern void twin_replay(HeapTwin *twin, const TwinLifecycle *life, int fillfactor,
						TwinResult *sum);

#endif							/* FF_HEAP_TWIN_H */

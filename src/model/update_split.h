/*
 * update_split.h
 *	  Which of a table's updates more room in its pages could make HOT.
 *
 * Pure C: no server calls.  An unknown number is NAN.
 */
#ifndef FF_UPDATE_SPLIT_H
#define FF_UPDATE_SPLIT_H

/* What is known of a number of updates. */
typedef struct UpdateCounts
{
	double		updated;
	double		hot;
	double		newpage;		/* went to another page; NAN before PostgreSQL 16 */
	/* old versions still in the pages, by where their successor is (a ratio) */
	double		seen_hot;
	double		seen_same_page;
	double		seen_moved;
	double		indexed_share;	/* by statements that set an indexed column, 0..1 */
} UpdateCounts;

/* Shares of all updates, 0..1; the first four NAN where nothing tells moved from
 * blocked. */
typedef struct UpdateSplit
{
	double		moved;			/* went to another page */
	double		eligible;		/* would be HOT, given room */
	double		recoverable;	/* of those that moved: what more room can save */
	double		blocked;		/* not HOT, whatever the room */
	/* what an index keeps from being HOT, all non-HOT ones where nothing tells */
	double		indexed;		/* whether or not they lacked room as well */
	double		indexed_with_room;	/* of these, those that had room */
} UpdateSplit;

extern UpdateSplit split_updates(const UpdateCounts *n);

#endif							/* FF_UPDATE_SPLIT_H */

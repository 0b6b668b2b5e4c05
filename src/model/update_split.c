/*
 * update_split.c
 *	  Which of a table's updates more room in its pages could make HOT.
 *
 * The one place of this rule: an update is HOT when its page has room and no
 * indexed column changes (a summarizing index's aside, from PostgreSQL 16 on).
 * So those that kept their page tell how many may be HOT at all, and of those
 * that left it as many would have been.
 */
#include "model/update_split.h"

#include <math.h>

/* Updates that stayed, or old versions of such, from which a share is taken. */
#define ENOUGH	30
/* With so many same-page versions that are not HOT, and at most a tenth as many
 * that moved, nearly none moved; chosen. */
#define SOME_BLOCKED	10
#define FEW_MOVED		0.1
/* Part of the statements' share that the pages must show; chosen. */
#define CONFIRMED	0.5
/* Share of updates below which it does not matter why they were not HOT; chosen. */
#define NEGLIGIBLE	0.01
/* Share of updates that set an indexed column and stayed in their page, from which
 * these tell of those that left it; chosen. */
#define TELLING		0.05

static double
at_most(double v, double high)
{
	return v > high ? high : v;
}

/* How many left their page, if such a share of those that stayed is HOT. */
static double
moved_of(double cold, double hot, double eligible)
{
	return eligible > 0 ? fmax(cold - hot * (1 - eligible) / eligible, 0) : 0;
}

/* How many left their page; NAN where nothing tells. */
static double
moved_updates(const UpdateCounts *n, double hot)
{
	double		cold = n->updated - hot;
	double		stayed = n->seen_hot + n->seen_same_page;

	if (cold <= 0)
		return 0;
	if (!isnan(n->newpage))
		return at_most(fmax(n->newpage, 0), cold);
	/*
	 * Updates of late may be others than those that an index keeps from being
	 * HOT.  But of what is not HOT, the next pruning takes both kinds.
	 */
	if (n->seen_same_page >= SOME_BLOCKED && n->seen_moved <= FEW_MOVED * n->seen_same_page &&
		cold <= n->indexed_share * n->updated)
		return cold * n->seen_moved / (n->seen_same_page + n->seen_moved);
	if (stayed >= ENOUGH)
	{
		/*
		 * Old versions of updates that stayed in their page tell the shares
		 * roughly: which of them are pruned first is not the same for both
		 * kinds.  Of those that moved they tell nothing at all.  What
		 * statements set no indexed column cannot have been blocked; and
		 * where the pages confirm that those which do are, their share is
		 * known better from them.
		 */
		double		eligible = fmax(n->seen_hot / stayed, 1 - n->indexed_share);

		if (n->seen_same_page / stayed >= CONFIRMED * n->indexed_share)
			eligible = 1 - n->indexed_share;

		return moved_of(cold, hot, eligible);
	}
	/*
	 * No more are HOT than could be by the statements, so these can be
	 * believed; where none could, HOT updates tell nothing of the room.
	 */
	if (n->indexed_share < 1 && hot <= (1 - n->indexed_share) * n->updated)
		return moved_of(cold, hot, 1 - n->indexed_share);
	if (n->seen_same_page + n->seen_moved > 0)
		return cold * n->seen_moved / (n->seen_same_page + n->seen_moved);
	return cold * (1 - n->indexed_share);
}

/*
 * What an index keeps from being HOT.  Those that stayed in their page and were
 * not HOT, and of those that left it the same part.  Where hardly any that sets
 * an indexed column stayed to be seen, the statements tell how many of those
 * that left would not have been HOT with room either.
 */
static void
split_indexed(const UpdateCounts *n, double hot, UpdateSplit *s)
{
	double		stayed_cold = 1 - hot - s->moved;
	/* at least so many that set an indexed column stayed: HOT ones beyond what the others
	 * can be, and all that were not HOT */
	double		stayed_setting = s->moved >= NEGLIGIBLE ? fmax(hot + n->indexed_share - 1, 0) + stayed_cold : NAN;

	if (isnan(s->moved))
		s->indexed_with_room = 1 - hot;
	else if (stayed_cold < NEGLIGIBLE)
		s->indexed_with_room = 0;
	else if (stayed_setting < TELLING)
		s->indexed_with_room = stayed_cold;
	else
		s->indexed_with_room = fmax(1 - hot - s->recoverable, 0);
	s->indexed = s->indexed_with_room;
	if (stayed_setting < TELLING)
		s->indexed = fmax(s->indexed, stayed_cold + fmax(at_most(n->indexed_share - stayed_setting, s->moved), 0));
}

/*
 * Split updates into HOT, moved and blocked.  Where too few kept their page to
 * tell how many may be HOT, the statements do; where nobody does, nothing
 * speaks against it.
 */
UpdateSplit
split_updates(const UpdateCounts *counts)
{
	UpdateCounts n = *counts;
	UpdateSplit s = {NAN, NAN, NAN, NAN, NAN, NAN};
	double		hot;
	double		moved;
	double		stayed;

	if (!(n.updated > 0))
		return s;
	if (!(n.indexed_share >= 0 && n.indexed_share <= 1))
		n.indexed_share = NAN;
	hot = at_most(fmax(n.hot, 0), n.updated);
	moved = moved_updates(&n, hot);
	if (isnan(moved))
	{
		split_indexed(&n, hot / n.updated, &s);
		return s;
	}
	stayed = n.updated - moved;
	s.eligible = stayed >= ENOUGH ? hot / stayed : isnan(n.indexed_share) ? 1 : 1 - n.indexed_share;
	s.moved = moved / n.updated;
	s.recoverable = s.moved * s.eligible;
	s.blocked = fmax((n.updated - hot) / n.updated - s.recoverable, 0);
	split_indexed(&n, hot / n.updated, &s);
	return s;
}

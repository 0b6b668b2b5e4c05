/*
 * changed.c
 *	  Which columns an update changed: compares versions of a row in one page.
 *
 * Compares bytes, as the server does to tell whether an update can be HOT, and calls no
 * function of a type.  Tuple descriptor and page may contradict each other if the page is
 * corrupt: no byte outside a tuple is read.
 */
#include "postgres.h"

#include "access/tupmacs.h"

#include "sample/sample.h"

/* Updates compared in a page, so that wide tables cost little (chosen). */
#define FF_COMPARED 10

/* A walk over the columns of a tuple, whose header is sound. */
typedef struct FfValue
{
	const HeapTupleHeaderData *tuple;
	unsigned	length;			/* of the tuple */
	unsigned	offset;			/* in it, behind the value */
	unsigned	size;			/* of the value; 0: NULL */
} FfValue;

/* Goes on to the value of this column, the next one; false if that is not within the tuple. */
static bool
next_value(FfValue *v, Form_pg_attribute a)
{
	const char *at = (const char *) v->tuple + v->offset;
	unsigned	left;

	v->size = 0;
	if ((v->tuple->t_infomask & HEAP_HASNULL) && att_isnull(a->attnum - 1, v->tuple->t_bits))
		return true;
	/* short values of variable length are not aligned, and padding is zero */
	if (a->attlen != -1 || (v->offset < v->length && *at == 0))
		v->offset = att_align_nominal(v->offset, a->attalign);
	if (v->offset >= v->length)
		return false;
	at = (const char *) v->tuple + v->offset;
	left = v->length - v->offset;
	if (a->attlen > 0)
		v->size = a->attlen;
	else if (a->attlen == -2)
		v->size = strnlen(at, left) + 1;
	else if (VARATT_IS_1B_E(at))
		v->size = left > 1 && VARTAG_EXTERNAL(at) == VARTAG_ONDISK ?
			VARHDRSZ_EXTERNAL + sizeof(varatt_external) : 0;
	else if (VARATT_IS_1B(at) || left >= VARHDRSZ)
		v->size = VARSIZE_ANY(at);
	v->offset += v->size;
	return v->size > 0 && v->size <= left;
}

/* Whether the values of a column differ; *sound: false if one is not within its tuple. */
static bool
column_changed(FfValue *old, FfValue *new, Form_pg_attribute a, bool *sound)
{
	*sound = *sound && next_value(old, a) && next_value(new, a);
	return *sound && (old->size != new->size ||
					  memcmp((const char *) old->tuple + old->offset - old->size,
							 (const char *) new->tuple + new->offset - new->size, old->size) != 0);
}

/* Begins a walk over the target of a line pointer; false if it has none. */
static bool
begin_walk(const PageHeaderData *header, OffsetNumber offset, FfValue *v)
{
	const ItemIdData *lp = &header->pd_linp[offset - 1];

	if (offset < FirstOffsetNumber || offset > ff_line_pointers(header) || !ItemIdIsNormal(lp))
		return false;
	v->tuple = (const HeapTupleHeaderData *) ((const char *) header + lp->lp_off);
	v->length = lp->lp_len;
	v->offset = v->tuple->t_hoff;
	return true;
}

/*
 * Counts, of the updates whose old and new version are in this page, those that changed each
 * column: changed[] is by attnum, and its first element counts the updates.  The page is
 * one that ff_heap_page() accepts.
 */
void
ff_count_changed(const char *page, BlockNumber block, TupleDesc desc, double *changed)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	int			left = FF_COMPARED;

	for (OffsetNumber offset = 1; offset <= ff_line_pointers(header) && left > 0; offset++)
	{
		FfValue		old,
					new;
		bool		differs[FF_BINS];
		bool		sound = true;
		int			natts;

		/* the successor is the version that the same transaction wrote */
		if (!begin_walk(header, offset, &old) || (old.tuple->t_infomask & HEAP_XMAX_IS_MULTI) ||
			ItemPointerGetBlockNumberNoCheck(&old.tuple->t_ctid) != block ||
			!begin_walk(header, ItemPointerGetOffsetNumberNoCheck(&old.tuple->t_ctid), &new) ||
			new.tuple == old.tuple || !(new.tuple->t_infomask & HEAP_UPDATED) ||
			new.tuple->t_choice.t_heap.t_xmin != old.tuple->t_choice.t_heap.t_xmax)
			continue;
		natts = HeapTupleHeaderGetNatts(old.tuple);
		if (natts != HeapTupleHeaderGetNatts(new.tuple) || natts > desc->natts || natts >= FF_BINS)
			continue;
		for (int i = 0; i < natts; i++)
			differs[i] = column_changed(&old, &new, TupleDescAttr(desc, i), &sound);
		left -= sound;
		changed[0] += sound;
		for (int i = 0; i < natts && sound; i++)
			changed[i + 1] += differs[i];
	}
}

/*
 * model.c
 *	  The model's way into SQL: one row of evidence in, one row out with the
 *	  choice and all steps of the curve.
 *
 * The model itself (src/model/) is plain C.  Nothing is read here but the
 * argument and the settings, and nothing is kept: the same row and settings
 * give the same answer.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "model/choice.h"
#include "model/heap_twin.h"
#include "model/lifecycle.h"
#include "compat.h"
#include "numbers.h"
#include "settings.h"

/* To be raised with every change after which the model answers otherwise: stored
 * fits of another version are not used. */
#define MODEL_VERSION	1

/* Nonsense beyond; fits an int64. */
#define MOST_BYTES	1e18

PG_FUNCTION_INFO_V1(ff_split_updates);
PG_FUNCTION_INFO_V1(ff_model);
PG_FUNCTION_INFO_V1(ff_model_version);
PG_FUNCTION_INFO_V1(ff_index_entry_price);
PG_FUNCTION_INFO_V1(ff_step_edge);

int			ff_payback_time;
double		ff_time_weight;
double		ff_wal_weight;
double		ff_size_weight;
double		ff_storage_weight;
double		ff_min_gain;
double		ff_page_read_cost;

/* What the model reads. */
typedef struct ModelInput
{
	Observed	seen;
	CostInput	cost;
} ModelInput;

/* The attributes of ff_internal.model_input, and where each goes. */
static const struct
{
	const char *name;
	size_t		offset;
}			input_column[] =
{
#define SEEN(name, field) {name, offsetof(ModelInput, seen.field)}
#define COST(name, field) {name, offsetof(ModelInput, cost.field)}
	SEEN("fillfactor", fillfactor),
	SEEN("updated", updated),
	SEEN("hot_updated", hot_updated),
	SEEN("newpage_updated", newpage_updated),
	SEEN("inserted", inserted),
	SEEN("deleted", deleted),
	SEEN("window_s", window_s),
	SEEN("total_inserted", total_inserted),
	SEEN("total_updated", total_updated),
	SEEN("window_updated", window_updated),
	SEEN("vacuums", vacuums),
	SEEN("seen_hot", seen_hot),
	SEEN("seen_same_page", seen_same_page),
	SEEN("seen_newpage", seen_moved),
	SEEN("blocks", blocks),
	SEEN("live_rows", live_rows),
	SEEN("inserted_width", inserted_width),
	SEEN("inserted_width_err", inserted_width_err),
	SEEN("updated_width", updated_width),
	SEEN("updated_width_err", updated_width_err),
	SEEN("updated_pct", updated_pct),
	SEEN("rows_per_page", rows_per_page),
	SEEN("rows_per_page_max", rows_per_page_max),
	SEEN("update_group_rows", update_group_rows),
	SEEN("insert_group_rows", insert_group_rows),
	SEEN("update_distance_p10", update_distance_p10),
	SEEN("update_distance_p50", update_distance_p50),
	SEEN("update_distance_p90", update_distance_p90),
	SEEN("table_xids", table_xids),
	SEEN("update_call_rows", update_call_rows),
	SEEN("insert_call_rows", insert_call_rows),
	SEEN("indexed_share", indexed_share),
	SEEN("vacuum_scale", vacuum_scale),
	SEEN("vacuum_nap_s", vacuum_nap_s),
	SEEN("sessions", sessions),
	SEEN("update_records", update_records),
	SEEN("indexes", indexes),
	COST("index_bytes", index_bytes),
	COST("heap_bytes", heap_bytes),
	COST("ram_bytes", ram_bytes),
	COST("index_scans", index_scans),
	COST("seq_scans", seq_scans),
	COST("blocks_fetched", blocks_fetched),
	COST("checkpoint_s", checkpoint_s),
	COST("read_us", read_us),
	COST("update_wal_bytes", update_wal_bytes)
};

/* A fit and everything made of it. */
typedef struct Fit
{
	ModelInput	in;
	HeapTwin	twin;
	Lifecycle	life;
	Curve		curve;
	Choice		choice;
} Fit;

static int
attribute(TupleDesc desc, const char *name, Oid type)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);

		if (a->attisdropped || strcmp(NameStr(a->attname), name) != 0)
			continue;
		if (a->atttypid != type)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of the evidence is of type %s, not %s", name,
							format_type_be(a->atttypid), format_type_be(type))));
		return i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("the evidence has no column \"%s\"", name)));
}

/*
 * Heap pages that scans visited, per row updated, less one index scan for each
 * statement that updates and for each row deleted: those are the writers' own.
 */
static double
pages_read(const ModelInput *in)
{
	const Observed *o = &in->seen;
	double		others = in->cost.index_scans - o->updated / or_else(o->update_call_rows, 1) - o->deleted;

	return ((others < 0 ? 0 : others) + in->cost.seq_scans * or_else(o->blocks, 0)) / o->updated;
}

/*
 * The row of evidence as the model takes it; NULL and infinite are NAN.
 * Errors: 42703 a column is missing, 42804 one is not double precision.
 */
static void
read_input(HeapTupleHeader row, ModelInput *in)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row),
											  HeapTupleHeaderGetTypMod(row));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row),.t_data = row};
	Datum	   *values = palloc(sizeof(Datum) * desc->natts);
	bool	   *nulls = palloc(sizeof(bool) * desc->natts);

	heap_deform_tuple(&tuple, desc, values, nulls);
	for (int k = 0; k < lengthof(input_column); k++)
	{
		int			i = attribute(desc, input_column[k].name, FLOAT8OID);
		double		v = nulls[i] ? NAN : DatumGetFloat8(values[i]);

		*(double *) ((char *) in + input_column[k].offset) = isfinite(v) ? v : NAN;
	}
	ReleaseTupleDesc(desc);

	in->seen.fillfactor = bound(or_else(in->seen.fillfactor, TWIN_MAX_FILLFACTOR),
								TWIN_MIN_FILLFACTOR, TWIN_MAX_FILLFACTOR);
	in->seen.pages_read = pages_read(in);
	in->cost.indexes = or_else(in->seen.indexes, 0);
	in->cost.heap_bytes = or_else(in->cost.heap_bytes, or_else(in->seen.blocks, 1) * TWIN_BLCKSZ);
	in->cost.window_s = in->seen.window_s;
	in->cost.update_call_rows = in->seen.update_call_rows;
	in->cost.insert_call_rows = in->seen.insert_call_rows;
	if (ff_page_read_cost > 0)
		in->cost.read_us = ff_page_read_cost;
	in->cost.horizon_s = ff_payback_time;
	in->cost.time_weight = ff_time_weight;
	in->cost.wal_weight = ff_wal_weight;
	in->cost.size_weight = ff_size_weight * ff_storage_weight;
	in->cost.min_gain = ff_min_gain / 100;
}

/* Columns of a row to be made, in the order of its type. */
typedef struct Row
{
	TupleDesc	desc;
	int			n;
	Datum		values[24];
	bool		nulls[24];
} Row;

static void
start_row(Row *row, Oid type)
{
	memset(row, 0, sizeof(*row));
	row->desc = lookup_rowtype_tupdesc_copy(type, -1);
}

static void
put(Row *row, double v)
{
	row->nulls[row->n] = !isfinite(v);
	row->values[row->n++] = Float8GetDatum(isfinite(v) ? v : 0);
}

static void
put_int(Row *row, int v)
{
	row->values[row->n++] = Int32GetDatum(v);
}

static void
put_bytes(Row *row, double v)
{
	row->values[row->n++] = Int64GetDatum((int64) bound(v, 0, MOST_BYTES));
}

static Datum
finish_row(Row *row)
{
	if (row->n != row->desc->natts)
		elog(ERROR, "%d columns for a row of %d", row->n, row->desc->natts);
	return HeapTupleGetDatum(heap_form_tuple(row->desc, row->values, row->nulls));
}

/* What the fit looks like inside, for those who mistrust it. */
static char *
lifecycles_text(const Lifecycle *life)
{
	StringInfoData t;

	initStringInfo(&t);
	for (int k = 0; k < life->n; k++)
	{
		const Fitted *f = &life->member[k];
		const TwinLifecycle *l = &f->life;

		appendStringInfo(&t, "%sweight %.2f misfit %.1f: HOT %.1f, updated %.0f, rows a page %.1f; "
						 "widths %.0f to %.0f in %.0f, together %.0f and %.0f (%d times), "
						 "per update %.3f inserted %.3f deleted (%s), eligible %.2f, fresh %.2f %s %.0f, "
						 "skew %.1f, lag %.1f, held %.0f for %.2f of the time, vacuum every %.2f, "
						 "rows %.0f, updates %.0f + %.0f",
						 k > 0 ? "\n" : "", f->weight, f->misfit, f->hot_pct, f->updated_pct, f->rows_per_page,
						 l->insert_len, l->update_len, l->grow_updates, l->insert_rows, l->update_rows, l->times,
						 l->inserts_per_update, l->deletes_per_update, l->delete_oldest >= 1 ? "the oldest" : "any",
						 l->hot_eligible, l->fresh_share, l->in_turn ? "in turn by" : "within", l->fresh_distance,
						 l->skew, l->lag, l->held, l->held_share, l->vacuum_gap,
						 l->start_rows, l->warmup, l->measure);
	}
	return t.data;
}

/* As type ff_internal.choice has it. */
static Datum
choice_row(const Fit *f, Oid type)
{
	const Step *step = f->curve.step;
	bool		fitted = f->life.n > 0;
	Row			r;

	start_row(&r, type);
	put_int(&r, step[f->choice.current].fillfactor);
	put_int(&r, step[f->choice.advised].fillfactor);
	put_int(&r, step[f->choice.advised_in_ram].fillfactor);
	put(&r, f->choice.gain);
	put(&r, f->choice.best_gain);
	put(&r, f->choice.rewrite_gain);
	put(&r, f->choice.as_is.wal_bytes);
	put(&r, f->choice.as_is.time_us);
	put(&r, fitted ? f->life.confidence : NAN);
	put(&r, f->choice.agreement);
	r.values[r.n++] = BoolGetDatum(f->choice.needs_rewrite);
	r.nulls[r.n] = f->life.filled_at == 0;
	put_int(&r, f->life.filled_at);
	put(&r, fitted ? f->life.member[0].hot_pct : NAN);
	put(&r, fitted ? f->life.fresh_share : NAN);
	put(&r, fitted ? f->life.hot_eligible : NAN);
	put(&r, f->in.seen.update_call_rows);
	put_int(&r, f->life.runs + f->curve.runs);
	r.nulls[r.n] = !fitted;
	r.values[r.n++] = fitted ? CStringGetTextDatum(lifecycles_text(&f->life)) : (Datum) 0;
	return finish_row(&r);
}

/* As type ff_internal.step has it. */
static Datum
step_row(const Step *s, const StepCost *c, Oid type)
{
	Row			r;

	start_row(&r, type);
	put_int(&r, s->fillfactor);
	put_int(&r, s->rows_per_page);
	put(&r, s->hot_pct);
	put(&r, s->hot_low);
	put(&r, s->hot_high);
	put(&r, s->moved_pct);
	put(&r, s->settled_hot_pct);
	put_bytes(&r, c->size_bytes);
	put_bytes(&r, c->index_bytes);
	put(&r, c->wal_bytes);
	put(&r, c->time_us);
	put(&r, c->cost);
	return finish_row(&r);
}

static Datum
step_rows(const Fit *f, Oid type)
{
	Datum	   *rows = palloc(sizeof(Datum) * f->curve.n);

	for (int i = 0; i < f->curve.n; i++)
		rows[i] = step_row(&f->curve.step[i], &f->choice.cost[i], type);
	return PointerGetDatum(construct_array(rows, f->curve.n, type, -1, false, TYPALIGN_DOUBLE));
}

/*
 * ff_model(evidence ff_internal.model_input)
 *
 * Fits lifecycles to the evidence, replays them at every step edge and weighs
 * the steps by the settings.  Returns the choice and the steps, from 100
 * downwards; NULL where no row width is known.
 */
Datum
ff_model(PG_FUNCTION_ARGS)
{
	Fit		   *f = palloc(sizeof(Fit));
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {0};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != 2)
		elog(ERROR, "return type must be a row of two columns");
	read_input(PG_GETARG_HEAPTUPLEHEADER(0), &f->in);
	lifecycle_fit(&f->twin, &f->in.seen, &f->life);
	CHECK_FOR_INTERRUPTS();
	lifecycle_curve(&f->twin, &f->in.seen, &f->life, &f->curve);
	CHECK_FOR_INTERRUPTS();
	if (f->curve.n == 0)
		PG_RETURN_NULL();
	choose(&f->in.seen, &f->life, &f->curve, &f->in.cost, &f->choice);

	values[0] = choice_row(f, TupleDescAttr(desc, 0)->atttypid);
	values[1] = step_rows(f, get_element_type(TupleDescAttr(desc, 1)->atttypid));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

Datum
ff_model_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(MODEL_VERSION);
}

/* A row of double precision columns, as the function's result. */
static Datum
numbers_row(FunctionCallInfo fcinfo, const double *v, int n)
{
	Row			r = {0};

	if (get_call_result_type(fcinfo, NULL, &r.desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	r.desc = BlessTupleDesc(r.desc);
	for (int i = 0; i < n; i++)
		put(&r, v[i]);
	return finish_row(&r);
}

/* What one index entry costs: WAL bytes, microseconds of CPU; see choice.h. */
Datum
ff_index_entry_price(PG_FUNCTION_ARGS)
{
	const double price[] = {WAL_INDEX_ENTRY, US_INDEX_INSERT};

	PG_RETURN_DATUM(numbers_row(fcinfo, price, lengthof(price)));
}

/*
 * ff_split_updates(updated, hot, newpage, seen_same_page, seen_newpage,
 *					indexed_share, seen_hot: all float8)
 *
 * Shares of the updates, see update_split.h; NULL where unknown, as any
 * argument may be.
 */
Datum
ff_split_updates(PG_FUNCTION_ARGS)
{
#define NUMBER(i) (PG_ARGISNULL(i) ? NAN : PG_GETARG_FLOAT8(i))
	UpdateCounts n = {
		.updated = NUMBER(0),.hot = NUMBER(1),.newpage = NUMBER(2),
		.seen_same_page = NUMBER(3),.seen_moved = NUMBER(4),
		.indexed_share = NUMBER(5),.seen_hot = NUMBER(6)
	};
	UpdateSplit s = split_updates(&n);
	const double share[] = {s.moved, s.blocked, s.eligible, s.recoverable, s.indexed, s.indexed_with_room};

	PG_RETURN_DATUM(numbers_row(fcinfo, share, lengthof(share)));
}

/*
 * ff_step_edge(fillfactor int, width int)
 *
 * The highest fillfactor with as many rows of a length (bytes, with header) on
 * a page.  Errors: 22023 for a fillfactor outside 10 to 100 or a width outside
 * 1 to 8160.
 */
Datum
ff_step_edge(PG_FUNCTION_ARGS)
{
	int32		fillfactor = PG_GETARG_INT32(0);
	int32		width = PG_GETARG_INT32(1);

	if (fillfactor < TWIN_MIN_FILLFACTOR || fillfactor > TWIN_MAX_FILLFACTOR)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fillfactor %d is out of range", fillfactor),
				 errdetail("It must be between %d and %d.", TWIN_MIN_FILLFACTOR, TWIN_MAX_FILLFACTOR)));
	if (width < 1 || width > TWIN_MAX_TUPLE_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("row length %d is out of range", width),
				 errdetail("It must be between 1 and %d bytes.", TWIN_MAX_TUPLE_SIZE)));
	PG_RETURN_INT32(twin_step_edge(fillfactor, width));
}

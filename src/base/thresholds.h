/*
 * thresholds.h
 *	  Thresholds of the model's choice and of the decision, and prices that SQL also needs,
 *	  each once; SQL reads them by name with threshold().  All are chosen but where it says bench.
 *
 * Each file that includes this defines THRESHOLD(name, value).
 */
THRESHOLD(FULL_DAY, 86400)		/* seconds to watch: each hour of the day was seen */
THRESHOLD(FEW, 0.01)			/* updates per insert, share of rows; less is none */
THRESHOLD(NEARLY_ALL, 0.98)		/* HOT share from which the others do not matter */
THRESHOLD(SAME_HOT, 0.005)		/* bench: HOT shares of equal runs differ by less */
THRESHOLD(LACKING, 0.02)		/* recoverable share from which updates lack room */
THRESHOLD(BLOCKED, 0.05)		/* blocked share from which an index is the cause */
THRESHOLD(EXPLAINED, 0.9)		/* part of the updates that statements must have made to be believed */
THRESHOLD(UNEXPLAINED, 0.1)		/* share kept from HOT that no statement explains: say so */
THRESHOLD(MOSTLY_BLOCKED, 4)	/* times the recoverable share: an index is the cause */
THRESHOLD(LITTLE_LACKING, 0.1)	/* unless more than this is recoverable */
THRESHOLD(STAYED, 30)			/* updates that must have stayed to know how many could be HOT */
THRESHOLD(GROWTH, 1.1)			/* length updated / inserted of rows that grow */
THRESHOLD(GROWTH_BYTES, 8)		/* and the difference, bytes: one alignment */
THRESHOLD(GROUP_ROWS, 3)		/* rows of a page updated together: a batch */
THRESHOLD(GROUP_PART, 0.1)		/* and their part of the page's rows */
THRESHOLD(READS, 50)			/* pages that readers fetch per row updated: mostly read */
THRESHOLD(SETTLING, 0.5)		/* weight of the workloads that settle: it will */
THRESHOLD(MAY_SETTLE, 0.1)		/* it may */
THRESHOLD(ONCE, 0.5)			/* part of the updates, of statements that ran once, or in a burst: no habit */
THRESHOLD(BURST, 7200)			/* seconds of a burst */
THRESHOLD(MOSTLY_HOT, 0.9)		/* HOT share from which a held snapshot, or its end, shows */
THRESHOLD(AS_BUSY, 0.5)			/* rate of updates since a change / over the window */
THRESHOLD(CLEAR_GAINS, 5)		/* times better: clearly better, to change earlier advice */
THRESHOLD(ENOUGH, 4)			/* times min_updates: full confidence */
THRESHOLD(CYCLES, 3)			/* cycles of the work: full confidence */
THRESHOLD(UNWATCHED, 0.5)		/* confidence without any time watched */
THRESHOLD(UNKNOWN, 0.5)			/* factor for what is unknown: lost counters, indexed columns */
THRESHOLD(CALIBRATED, 0.8)		/* accuracy of earlier predictions that changes nothing */
THRESHOLD(GROWS, 2)				/* times the size, from which more confidence is needed */
THRESHOLD(WORTH_DISK, 8388608)	/* bytes of disk that are worth a change, whatever else it saves */
THRESHOLD(FREED, 0.1)			/* part of its pages that a rewrite of a hardly updated table must free */
THRESHOLD(SHOWN, 1.0005)		/* times the least cost: as shown, the same */
THRESHOLD(BLOAT, 2)				/* times the size that its rows need: bloat */
THRESHOLD(BLOAT_BYTES, 1048576)	/* and the difference, bytes */
THRESHOLD(REFILLS, 2)			/* inserts per live row: it held more before, and will again */
THRESHOLD(SMALL_INDEX, 100)		/* pages of an index, below which its fillfactor does not matter */
THRESHOLD(RATES, 3600)			/* seconds to watch before rates are given for a day */
THRESHOLD(STANDS, 0.5)			/* part of the needed confidence, for advice that stands */
/* One index entry in the model, see the other prices in choice.c. */
THRESHOLD(US_ENTRY, 1.6)		/* bench: leaf in cache, vacuum included */
THRESHOLD(WAL_ENTRY, 72)		/* lsn: with its share of splits and vacuum */

#undef THRESHOLD

/*
 * lock.h
 *	  Locks of a collection: one collector at a time, and an extension that
 *	  stays while it is at work.
 */
#ifndef FF_COLLECT_LOCK_H
#define FF_COLLECT_LOCK_H

extern void ff_keep_extension(Oid extension);
extern bool ff_lock_collector(bool atomic);
extern void ff_unlock_collector(void);

#endif							/* FF_COLLECT_LOCK_H */

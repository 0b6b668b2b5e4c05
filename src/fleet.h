/*
 * fleet.h
 *	  Shards that Citus keeps from sessions (fleet.c).
 */
#ifndef FF_FLEET_H
#define FF_FLEET_H

extern void ff_show_shards(void);

#endif							/* FF_FLEET_H */

/*
 * refuse.h
 *	  Who may call what (refuse.c).
 */
#ifndef FF_REFUSE_H
#define FF_REFUSE_H

extern void ff_require(const char *what);

#endif							/* FF_REFUSE_H */

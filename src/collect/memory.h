/*
 * memory.h
 *	  The setting that overrides the memory found.
 */
#ifndef FF_MEMORY_H
#define FF_MEMORY_H

/* fillfactor_advisor.ram, MB; 0: detect */
extern int	ff_ram_setting;

#endif							/* FF_MEMORY_H */

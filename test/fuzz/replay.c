/*
 * replay.c
 *	  Runs a fuzz target without libFuzzer, for valgrind: every page given by
 *	  name as it is, then so many mutations of each, the same in every run.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 8192

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t		LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t		LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
									unsigned seed);

static uint32_t state = 1;

static uint32_t
next_random(void)
{
	state = state * 1664525u + 1013904223u;
	return state >> 8;
}

/* What libFuzzer would do to a page, as far as it goes: a few bytes replaced. */
size_t
LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
	(void) max;
	for (uint32_t n = 1 + next_random() % 4; n > 0; n--)
		data[next_random() % size] = (uint8_t) next_random();
	return size;
}

/* replay MUTATIONS FILE... */
int
main(int argc, char **argv)
{
	int			mutations;
	long		runs = 0;

	if (argc < 3)
		return 2;
	mutations = atoi(argv[1]);
	for (int i = 2; i < argc; i++)
	{
		uint8_t		page[PAGE] = {0};
		uint8_t		changed[PAGE];
		FILE	   *file = fopen(argv[i], "rb");
		size_t		size = file ? fread(page, 1, PAGE, file) : 0;

		if (size == 0)
		{
			fprintf(stderr, "%s: no page\n", argv[i]);
			return 2;
		}
		fclose(file);
		LLVMFuzzerTestOneInput(page, size);
		runs++;
		memcpy(changed, page, PAGE);
		for (int n = 0; n < mutations; n++, runs++)
		{
			/* some of them one upon another */
			if (n % 8 == 0)
				memcpy(changed, page, PAGE);
			LLVMFuzzerCustomMutator(changed, PAGE, PAGE, next_random());
			LLVMFuzzerTestOneInput(changed, PAGE);
		}
	}
	printf("%ld pages\n", runs);
	return 0;
}

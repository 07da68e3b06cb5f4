#ifndef TC_ALLREDUCE_SPEC_H
#define TC_ALLREDUCE_SPEC_H
/**
 * @file spec.h
 * An algorithm and its options as people write them: "multicolor:k=4,d=4,chunk=64K,window=4".
 *
 * Used by: auto, train, app.   Nothing here communicates.
 */
#include "allreduce/allreduce.h"
#include <stddef.h>

typedef struct {
    tc_allreduce_options options; /* what the text leaves open has its default */
    int mpi_algorithm; /* mpi: coll_tuned_allreduce_algorithm of Open MPI; 0: left to MPI */
} tc_allreduce_spec;

/**
 * Read NAME or NAME:KEY=VALUE,…; keys of multicolor: k (colors), d (arity), of the others what they
 * have: chunk (-1: as much as a step sends), window, wire (f32, bf16, f16); of mpi: algorithm; of
 * auto: wire.
 *
 * @param[out] spec_p  untouched on failure.   @retval TC_INVAL  with the text and what it may be.
 */
tc_status tc_allreduce_spec_parse(const char *text, tc_allreduce_spec *spec_p);

/**
 * Cut the next spec off a list.  Specs are parted by commas or spaces; what follows a comma and has
 * a '=' but no ':' still belongs to the spec before: "multicolor:k=4,d=2,mpi" are two.
 *
 * @param[in,out] list_p  What is left of the list.
 * @param[out] spec       (size) the next one; "" at the end.
 * @retval TC_INVAL  it is longer than size - 1.
 */
tc_status tc_allreduce_spec_cut(const char **list_p, char *spec, size_t size);

/** Write a spec in full, so that tc_allreduce_spec_parse() gives it again. */
void tc_allreduce_spec_print(const tc_allreduce_spec *spec, char *text, size_t size);

#endif

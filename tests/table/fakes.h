#ifndef TC_TESTS_TABLE_FAKES_H
#define TC_TESTS_TABLE_FAKES_H
/*
 * A loader and a backend for the tests of the table.
 *
 * The loader makes pictures out of their position in the epoch. The backend computes a little
 * "network" in numbers that are exact in float, so that any grouping of devices and ranks must give
 * the same bits; it defers whatever backend.h allows to defer, and counts every breach of the rules
 * there (threads, order of calls, memory given back too early).
 */
#include "dev/backend.h"
#include "loader/loader.h"

#include <stdatomic.h>

enum { FAKE_SIZE = 8, FAKE_CLASSES = 10 };

/* What goes wrong, and how uneven things are; set while no table is running. */
typedef struct {
    int loader_step, loader_device; /* tc_loader_get() fails there; -1: never */
    tc_status loader_status;
    int train_call, train_ordinal; /* train() fails there, after half the buckets; -1: never */
    tc_status train_status;
    tc_status open_status;     /* device 1's open() */
    int jitter_us;             /* random delays up to this at buckets and slices */
    int slow_ordinal, slow_us; /* a device that is always late; -1 */
    int bound;                 /* processors that every device must find itself bound to */
    void (*before_bucket)(int ordinal, int b); /* called before every announcement, or NULL */
} fake_knobs;

extern fake_knobs fake;
extern atomic_int fake_breaches; /* of the rules in backend.h and loader.h */
extern atomic_int fake_open;     /* devices and steps that exist, slices that are out */
void fake_reset(void);

tc_loader *fake_loader(int rank, int devices, int64_t batch, int64_t global_batch, int64_t total);
void fake_loader_free(tc_loader *loader);

extern const tc_backend fake_backend;

/* A network with BN, of a few thousand parameters, for the fake backend. */
tc_graph *fake_graph(void);

#endif

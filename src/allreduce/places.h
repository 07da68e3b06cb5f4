#ifndef TC_ALLREDUCE_PLACES_H
#define TC_ALLREDUCE_PLACES_H
/**
 * @file places.h
 * Where the ranks are, and the trees that follow from it.
 *
 * Flow:  tc_places_find() (collective) or tc_places_make() -> { tc_tree_build() -> tc_tree_free() }
 *        -> tc_places_free()
 * Used by: allreduce (planners, printing), tests.
 *
 * Places number the ranks leaf switch by leaf switch, node by node, in the order of ranks.  Where
 * every rank has a node of its own and one switch joins them all, a place is a rank.
 */
#include "comm/comm.h"

typedef struct {
    int n;
    int n_nodes, n_leaves;
    int *rank;    /* (n) at each place */
    int *place;   /* (n) of each rank */
    int *node_at; /* (n_nodes + 1) the first place of each node */
    int *leaf_at; /* (n_leaves + 1) the first node of each leaf switch */
    char *host;   /* NULL, or (n, TC_HOST_CHARS) names by rank, for printing */
} tc_places;

enum { TC_HOST_CHARS = 64 };

/**
 * Ask all ranks for their node (ranks that share memory) and leaf switch.
 *
 * Collective: yes.   Blocks: on all ranks.
 * @param topology  NULL, or the path of a text file with a line "HOST SWITCH" for every host; "#"
 *                  begins a comment.  Read by every rank.
 * @retval TC_IO, TC_FORMAT (a line), TC_INVAL (this host is missing), TC_NOMEM, TC_PEER, TC_MPI.
 */
tc_status tc_places_find(tc_comm *comm, const char *topology, tc_places *places);

/** The same from arrays: node[r] is any number that ranks of one node share and others do not;
 *  leaf[r] likewise.  Ranks of one node have one leaf. */
tc_status tc_places_make(int n, const int *node, const int *leaf, tc_places *places);
void tc_places_free(tc_places *places);

/** No rank is nearer to another than to a third. */
bool tc_places_are_flat(const tc_places *places);

typedef struct {
    int root;
    int *parent;   /* (n) of each rank; -1 at the root */
    int *child_at; /* (n + 1) where each rank's children begin */
    int *child;    /* (n - 1) those on its node first, then those below its switch, then others */
} tc_tree;

/**
 * The tree of color t of k: heaps of arity d within each node, over the nodes below each switch,
 * and over the switches.  The roots of the colors are spread evenly over the places; in every group
 * the leader has the same position as the root in its own.
 *
 * @retval TC_NOMEM
 */
tc_status tc_tree_build(const tc_places *places, int k, int d, int t, tc_tree *tree);
void tc_tree_free(tc_tree *tree);

#endif

/* Trees over hosts and switches: they span, they stay near first, and flat ones are heaps. */
#include <config.h>

#include "allreduce/places.h"
#include "base/rng.h"

#include "../tap.h"

enum { MOST = 60 };

/* How many ranks of the group have their parent outside: one, its leader, or none at the root. */
static bool has_one_exit(const tc_tree *tree, const int *group, int n, int g)
{
    int exits = 0, root = 0;

    for (int r = 0; r < n; r++) {
        if (group[r] != g)
            continue;
        int parent = tree->parent[r];
        root += parent < 0;
        exits += parent >= 0 && group[parent] != g;
    }
    return exits + root == 1;
}

/* Every rank reaches the root, and is listed once below its parent. */
static bool spans(const tc_tree *tree, int n, int arity)
{
    bool good = tree->parent[tree->root] == -1 && tree->child_at[n] == n - 1;

    for (int r = 0; r < n; r++) {
        int steps = 0, at = r, listed = 0;
        for (; tree->parent[at] >= 0 && steps <= n; at = tree->parent[at])
            steps++;
        good = good && at == tree->root && steps < n;
        for (int other = 0; other < n; other++)
            for (int c = tree->child_at[other]; c < tree->child_at[other + 1]; c++)
                listed += tree->child[c] == r && tree->parent[r] == other;
        good = good && listed == (r != tree->root);
        good = good && tree->child_at[r + 1] - tree->child_at[r] <= 3 * arity;
    }
    return good;
}

static void test_random(void)
{
    bool span = true, near = true, order = true;

    for (uint64_t seed = 0; seed < 200; seed++) {
        tc_rng rng = tc_rng_make(seed, TC_STREAM_TEST, 0, 0);
        int n = 1 + (int)tc_rng_below(&rng, MOST), node[MOST], leaf[MOST];
        int nodes = 1 + (int)tc_rng_below(&rng, (uint32_t)n), k = 1 + (int)tc_rng_below(&rng, 9);
        int leaves = 1 + (int)tc_rng_below(&rng, 4), arity = 1 + (int)tc_rng_below(&rng, 5);
        tc_places places;
        for (int r = 0; r < n; r++) {
            node[r] = (int)tc_rng_below(&rng, (uint32_t)nodes);
            leaf[r] = node[r] % leaves;
        }
        if (tc_places_make(n, node, leaf, &places) != TC_OK)
            return;
        for (int p = 0; p < n; p++) {
            order = order && places.place[places.rank[p]] == p;
            for (int q = p + 1; q < n; q++) /* a node's ranks, and a leaf's, stand together */
                if (node[places.rank[q]] == node[places.rank[p]])
                    order = order && node[places.rank[q - 1]] == node[places.rank[p]];
        }
        for (int t = 0; t < k; t++) {
            tc_tree tree;
            if (tc_tree_build(&places, k, arity, t, &tree) != TC_OK)
                return;
            span = span && spans(&tree, n, arity);
            for (int r = 0; r < n; r++)
                near = near && has_one_exit(&tree, node, n, node[r]) &&
                       has_one_exit(&tree, leaf, n, leaf[r]);
            tc_tree_free(&tree);
        }
        tc_places_free(&places);
    }
    tap_ok(order, "places number every rank once, a node's side by side");
    tap_ok(span, "trees span all ranks, with at most d children a level");
    tap_ok(near, "one edge leaves each host, and each switch");
}

static void test_flat(void)
{
    int node[MOST], leaf[MOST] = { 0 };
    bool heap = true;

    for (int r = 0; r < MOST; r++)
        node[r] = r;
    for (int n = 1; n <= MOST; n += 7)
        for (int t = 0; t < 4; t++) {
            tc_places places;
            tc_tree tree;
            if (tc_places_make(n, node, leaf, &places) != TC_OK ||
                tc_tree_build(&places, 4, 3, t, &tree) != TC_OK)
                return;
            int shift = t * n / 4;
            for (int place = 1; place < n; place++)
                heap = heap && tree.parent[(place + shift) % n] == ((place - 1) / 3 + shift) % n;
            heap = heap && tree.root == shift && tc_places_are_flat(&places);
            tc_tree_free(&tree);
            tc_places_free(&places);
        }
    tap_ok(heap, "with a host a rank they are heaps, rotated by t*n/k");
}

/* Two hosts of two ranks each below two switches, ranks dealt in turns. */
static void test_example(void)
{
    const int node[8] = { 0, 1, 2, 3, 0, 1, 2, 3 }, leaf[8] = { 0, 0, 1, 1, 0, 0, 1, 1 };
    const int parents[8] = { 4, 5, 6, 7, -1, 4, 4, 6 };
    tc_places places;
    tc_tree tree;

    if (tc_places_make(8, node, leaf, &places) != TC_OK ||
        tc_tree_build(&places, 8, 2, 1, &tree) != TC_OK)
        return;
    bool good = tree.root == 4 && !tc_places_are_flat(&places);
    for (int r = 0; r < 8; r++)
        good = good && tree.parent[r] == parents[r];
    good = good && tree.child[tree.child_at[4]] == 0 && tree.child[tree.child_at[4] + 1] == 5;
    tap_ok(good, "color 1 of 8: leaders are the second ranks; near children come first");
    tc_tree_free(&tree);
    tc_places_free(&places);
}

int main(void)
{
    test_random();
    test_flat();
    test_example();
    return tap_done();
}

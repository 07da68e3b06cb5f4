#include <config.h>

#include "allreduce/places.h"

#include "base/mem.h"

#include <string.h>

/* A tree that grows: edges in the order in which children are listed. */
typedef struct {
    const tc_places *places;
    int arity;
    int node, local;   /* the root's: its node below its switch, its place on its node */
    int *member;       /* (n) scratch: the ranks of one heap, its top first */
    int *from, *to, n; /* edges so far */
} growth;

static int node_size(const tc_places *p, int node)
{
    return p->node_at[node + 1] - p->node_at[node];
}

/* The rank that leads its node, in the position that the root has in its own. */
static int node_leader(const growth *g, int node)
{
    return g->places->rank[g->places->node_at[node] + g->local % node_size(g->places, node)];
}

static int leader_node(const growth *g, int leaf)
{
    const int *leaf_at = g->places->leaf_at;

    return leaf_at[leaf] + g->node % (leaf_at[leaf + 1] - leaf_at[leaf]);
}

/* Join the first n members into a heap. */
static void join(growth *g, int n)
{
    for (int j = 1; j < n; j++) {
        g->from[g->n] = g->member[(j - 1) / g->arity];
        g->to[g->n++] = g->member[j];
    }
}

static void join_nodes(growth *g)
{
    const tc_places *p = g->places;

    for (int node = 0; node < p->n_nodes; node++) {
        int n = node_size(p, node);
        for (int j = 0; j < n; j++)
            g->member[j] = p->rank[p->node_at[node] + (g->local % n + j) % n];
        join(g, n);
    }
}

static void join_leaves(growth *g)
{
    const tc_places *p = g->places;

    for (int leaf = 0; leaf < p->n_leaves; leaf++) {
        int first = p->leaf_at[leaf], n = p->leaf_at[leaf + 1] - first;
        for (int j = 0; j < n; j++)
            g->member[j] = node_leader(g, first + (leader_node(g, leaf) - first + j) % n);
        join(g, n);
    }
}

static void join_all(growth *g, int top)
{
    int n = g->places->n_leaves;

    for (int j = 0; j < n; j++)
        g->member[j] = node_leader(g, leader_node(g, (top + j) % n));
    join(g, n);
}

/* Which of the groups that begin at at[0], at[1], … holds x. */
static int group_of(const int *at, int x)
{
    int group = 0;

    while (at[group + 1] <= x)
        group++;
    return group;
}

static tc_status take_memory(int n, growth *g, tc_tree *tree)
{
    tc_status status = tc_alloc(n, sizeof *g->member, "members of a heap", &g->member);

    if (status == TC_OK)
        status = tc_alloc(n, sizeof *g->from, "edges of a tree", &g->from);
    if (status == TC_OK)
        status = tc_alloc(n, sizeof *g->to, "edges of a tree", &g->to);
    if (status == TC_OK)
        status = tc_alloc(n, sizeof *tree->parent, "parents", &tree->parent);
    if (status == TC_OK)
        status = tc_alloc((int64_t)n + 1, sizeof *tree->child_at, "children", &tree->child_at);
    if (status == TC_OK)
        status = tc_alloc(n, sizeof *tree->child, "children", &tree->child);
    return status;
}

tc_status tc_tree_build(const tc_places *places, int k, int d, int t, tc_tree *tree_p)
{
    growth g = { .places = places, .arity = d };
    tc_tree tree = { 0 };
    int root = (int)((int64_t)t * places->n / k), node = group_of(places->node_at, root);
    int leaf = group_of(places->leaf_at, node);
    tc_status status = take_memory(places->n, &g, &tree);

    if (status == TC_OK) {
        g.local = root - places->node_at[node];
        g.node = node - places->leaf_at[leaf];
        tree.root = places->rank[root];
        tree.parent[tree.root] = -1;
        join_nodes(&g); /* the nearest children are listed first */
        join_leaves(&g);
        join_all(&g, leaf);
        for (int i = 0; i < g.n; i++) {
            tree.parent[g.to[i]] = g.from[i];
            tree.child_at[g.from[i] + 1]++;
        }
        for (int r = 0; r < places->n; r++)
            tree.child_at[r + 1] += tree.child_at[r];
        memcpy(g.member, tree.child_at, (size_t)places->n * sizeof *g.member);
        for (int i = 0; i < g.n; i++)
            tree.child[g.member[g.from[i]]++] = g.to[i];
    }
    tc_free(g.member);
    tc_free(g.from);
    tc_free(g.to);
    if (status == TC_OK)
        *tree_p = tree;
    else
        tc_tree_free(&tree);
    return status;
}

void tc_tree_free(tc_tree *tree)
{
    tc_free(tree->parent);
    tc_free(tree->child_at);
    tc_free(tree->child);
    *tree = (tc_tree){ 0 };
}

/* The trees of a context, for people. */
#include <config.h>

#include "allreduce/allreduce_impl.h"

#include <errno.h>
#include <string.h>

static const char *host_of(const tc_allreduce *ctx, int rank)
{
    return ctx->places.host + (int64_t)rank * TC_HOST_CHARS;
}

static int depth_of(const tc_tree *tree, int rank)
{
    int depth = 0;

    for (; tree->parent[rank] >= 0; rank = tree->parent[rank])
        depth++;
    return depth;
}

/* Each rank before all below it. */
static void print_text(const tc_allreduce *ctx, const tc_tree *tree, int t, FILE *out)
{
    int rank = tree->root;

    fprintf(out, "color %d\n", t);
    while (rank >= 0) {
        fprintf(out, "%*srank %d host %s\n", 2 + 2 * depth_of(tree, rank), "", rank,
                host_of(ctx, rank));
        if (tree->child_at[rank] < tree->child_at[rank + 1]) {
            rank = tree->child[tree->child_at[rank]];
            continue;
        }
        for (; rank >= 0; rank = tree->parent[rank]) { /* up, until there is a next child */
            int parent = tree->parent[rank], c = parent < 0 ? 0 : tree->child_at[parent];
            while (parent >= 0 && tree->child[c] != rank)
                c++;
            if (parent >= 0 && c + 1 < tree->child_at[parent + 1]) {
                rank = tree->child[c + 1];
                break;
            }
        }
    }
}

static void print_dot(const tc_allreduce *ctx, const tc_tree *tree, int t, FILE *out)
{
    fprintf(out, "  subgraph cluster_%d {\n    label=\"color %d\";\n", t, t);
    for (int r = 0; r < ctx->places.n; r++)
        fprintf(out, "    c%dr%d [label=\"%d\\n%s\"%s];\n", t, r, r, host_of(ctx, r),
                r == tree->root ? ", peripheries=2" : "");
    for (int r = 0; r < ctx->places.n; r++)
        for (int c = tree->child_at[r]; c < tree->child_at[r + 1]; c++)
            fprintf(out, "    c%dr%d -> c%dr%d;\n", t, r, t, tree->child[c]);
    fprintf(out, "  }\n");
}

tc_status tc_allreduce_print_trees(const tc_allreduce *ctx, FILE *out, bool dot)
{
    const tc_variant *v = &ctx->variant[ctx->variant_of[0]];
    tc_status status = TC_OK;

    if (!v->algorithm->has_trees)
        return tc_fail(TC_INVAL, "%s has no trees: only multicolor does", v->algorithm->name);
    if (dot)
        fprintf(out, "digraph allreduce {\n  node [shape=box];\n");
    for (int t = 0; t < v->options.colors && status == TC_OK; t++) {
        tc_tree tree;
        status = tc_tree_build(&ctx->places, v->options.colors, v->options.arity, t, &tree);
        if (status != TC_OK)
            return status;
        (dot ? print_dot : print_text)(ctx, &tree, t, out);
        tc_tree_free(&tree);
    }
    if (dot)
        fprintf(out, "}\n");
    if (fflush(out) != 0 || ferror(out))
        return tc_fail(TC_IO, "the trees could not be written: %s", strerror(errno));
    return TC_OK;
}

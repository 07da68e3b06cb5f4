#include <config.h>

#include "allreduce/places.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What a rank tells the others. */
typedef struct {
    int32_t node;
    char host[TC_HOST_CHARS], leaf[TC_HOST_CHARS];
} address;

static tc_status find_leaf(const char *path, const char *host, char *leaf)
{
    char line[512], name[256], where[TC_HOST_CHARS], more[2];
    FILE *file = fopen(path, "r");
    tc_status status = TC_OK;
    bool found = false;

    if (file == NULL)
        return tc_fail(TC_IO, "%s: %s", path, strerror(errno));
    for (int n = 1; status == TC_OK && fgets(line, sizeof line, file) != NULL; n++) {
        line[strcspn(line, "#\n")] = '\0';
        int words = sscanf(line, "%255s %63s %1s", name, where, more);
        if (words > 0 && words != 2)
            status = tc_fail(TC_FORMAT, "%s: line %d: give \"HOST SWITCH\"", path, n);
        else if (words == 2 && strcmp(name, host) == 0 && !found) {
            strcpy(leaf, where);
            found = true;
        }
    }
    if (status == TC_OK && ferror(file))
        status = tc_fail(TC_IO, "%s: reading failed", path);
    fclose(file);
    if (status == TC_OK && !found)
        status =
            tc_fail(TC_INVAL, "%s: host %s is missing: add a line \"%s SWITCH\"", path, host, host);
    return status;
}

/* The number of the first rank with the same leaf: equal names are one switch. */
static int first_with_leaf(const address *all, int r)
{
    int first = 0;

    while (strcmp(all[first].leaf, all[r].leaf) != 0)
        first++;
    return first;
}

/* Number the nodes and leaves of what all ranks have told. */
static tc_status make_from(const address *all, int n, tc_places *places)
{
    int *node = NULL, *leaf = NULL;
    tc_status status = tc_alloc(n, sizeof *node, "nodes", &node);

    if (status == TC_OK)
        status = tc_alloc(n, sizeof *leaf, "leaf switches", &leaf);
    for (int r = 0; r < n && status == TC_OK; r++) {
        node[r] = all[r].node;
        leaf[r] = first_with_leaf(all, r);
    }
    if (status == TC_OK)
        status = tc_places_make(n, node, leaf, places);
    if (status == TC_OK)
        status = tc_alloc(n, TC_HOST_CHARS, "names of hosts", &places->host);
    for (int r = 0; r < n && status == TC_OK; r++)
        memcpy(places->host + (int64_t)r * TC_HOST_CHARS, all[r].host, TC_HOST_CHARS);
    tc_free(node);
    tc_free(leaf);
    return status;
}

tc_status tc_places_find(tc_comm *comm, const char *topology, tc_places *places)
{
    int n = tc_comm_size(comm);
    address mine = { .node = tc_comm_node(comm) }, *all = NULL;
    tc_status status = tc_alloc(n, sizeof *all, "addresses of ranks", &all);

    *places = (tc_places){ 0 };
    strncpy(mine.host, tc_comm_host(comm), sizeof mine.host - 1);
    if (status == TC_OK && topology != NULL)
        status = find_leaf(topology, tc_comm_host(comm), mine.leaf);
    status = tc_comm_agree(comm, status);
    if (status == TC_OK)
        status = tc_comm_allgather(comm, &mine, sizeof mine, all);
    if (status == TC_OK) {
        status = make_from(all, n, places);
        status = tc_comm_agree(comm, status);
    }
    tc_free(all);
    if (status != TC_OK)
        tc_places_free(places);
    return status;
}

/* Take all ranks of one node, in order. */
static void take_node(tc_places *p, const int *node, int first, int *at)
{
    p->node_at[p->n_nodes++] = *at;
    for (int r = first; r < p->n; r++)
        if (node[r] == node[first]) {
            p->place[r] = *at;
            p->rank[(*at)++] = r;
        }
    p->node_at[p->n_nodes] = *at;
}

/* Take all nodes below one leaf switch, in the order of their first ranks. */
static void take_leaf(tc_places *p, const int *node, const int *leaf, int first, int *at)
{
    p->leaf_at[p->n_leaves++] = p->n_nodes;
    for (int r = first; r < p->n; r++)
        if (leaf[r] == leaf[first] && p->place[r] < 0)
            take_node(p, node, r, at);
    p->leaf_at[p->n_leaves] = p->n_nodes;
}

tc_status tc_places_make(int n, const int *node, const int *leaf, tc_places *places)
{
    tc_places p = { .n = n };
    int at = 0;
    tc_status status = tc_alloc(n, sizeof *p.rank, "ranks by place", &p.rank);

    if (status == TC_OK)
        status = tc_alloc(n, sizeof *p.place, "places", &p.place);
    if (status == TC_OK)
        status = tc_alloc((int64_t)n + 1, sizeof *p.node_at, "nodes", &p.node_at);
    if (status == TC_OK)
        status = tc_alloc((int64_t)n + 1, sizeof *p.leaf_at, "leaf switches", &p.leaf_at);
    if (status != TC_OK) {
        tc_places_free(&p);
        return status;
    }
    for (int r = 0; r < n; r++)
        p.place[r] = -1;
    for (int r = 0; r < n; r++)
        if (p.place[r] < 0)
            take_leaf(&p, node, leaf, r, &at);
    *places = p;
    return TC_OK;
}

void tc_places_free(tc_places *places)
{
    tc_free(places->rank);
    tc_free(places->place);
    tc_free(places->node_at);
    tc_free(places->leaf_at);
    tc_free(places->host);
    *places = (tc_places){ 0 };
}

bool tc_places_are_flat(const tc_places *places)
{
    return places->n_leaves <= 1 && (places->n_nodes == places->n || places->n_nodes <= 1);
}

#include <config.h>

#include "train/checkpoint.h"

#include "base/mem.h"
#include "train/safetensors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define STEP_NAME "step-%09" PRId64

tc_status tc_checkpoint_create(const tc_graph *graph, tc_checkpoint *ckpt)
{
    *ckpt = (tc_checkpoint){ .best = -1.0 };
    tc_status status = tc_alloc(graph->param_count, sizeof(float), "weights", &ckpt->weights);
    if (status == TC_OK)
        status = tc_alloc(graph->param_count, sizeof(float), "momentum", &ckpt->momentum);
    if (status == TC_OK)
        status = tc_alloc(graph->stat_count, sizeof(float), "BN statistics", &ckpt->stats);
    if (status != TC_OK)
        tc_checkpoint_free(ckpt);
    return status;
}

void tc_checkpoint_free(tc_checkpoint *ckpt)
{
    tc_free(ckpt->options);
    tc_free(ckpt->weights);
    tc_free(ckpt->momentum);
    tc_free(ckpt->stats);
    *ckpt = (tc_checkpoint){ .best = -1.0 };
}

__attribute__((format(printf, 2, 3))) static tc_status join(char path[PATH_SIZE], const char *fmt,
                                                            ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(path, PATH_SIZE, fmt, ap);
    va_end(ap);
    if (n < 0 || n >= PATH_SIZE)
        return tc_fail(TC_INVAL, "%.100s…: the name is too long", path);
    return TC_OK;
}

/* ---- The lists of tensors ---- */

/* One entry a parameter, named prefix + its name, with its place in flat. */
static void list_params(const tc_graph *graph, const char *prefix, float *flat, tc_tensor *list)
{
    for (int i = 0; i < graph->n_params; i++) {
        const tc_param *p = &graph->param[i];
        snprintf(list[i].name, sizeof list[i].name, "%s%s", prefix, p->name);
        list[i].type = TC_TENSOR_F32;
        list[i].n_dims = p->n_dims;
        memcpy(list[i].dims, p->dims, sizeof list[i].dims);
        list[i].data = flat + p->offset;
    }
}

/* A state_dict: parameters, then three tensors a BN. */
static tc_status list_model(const tc_graph *graph, float *weights, float *stats, int64_t *steps,
                            tc_tensor **list_p, int64_t *n_p)
{
    tc_tensor *list = NULL;
    int64_t n = graph->n_params;
    tc_status status =
        tc_alloc(n + 3 * (int64_t)graph->n_stats, sizeof *list, "tensor list", &list);

    if (status != TC_OK)
        return status;
    list_params(graph, "", weights, list);
    for (int i = 0; i < graph->n_stats; i++) {
        static const char *const suffix[] = { "running_mean", "running_var",
                                              "num_batches_tracked" };
        const tc_stat *s = &graph->stat[i];
        for (int k = 0; k < 3; k++, n++) {
            snprintf(list[n].name, sizeof list[n].name, "%s.%s", s->name, suffix[k]);
            list[n].type = k == 2 ? TC_TENSOR_I64 : TC_TENSOR_F32;
            list[n].n_dims = k < 2;
            list[n].dims[0] = s->channels;
            list[n].data = k == 2 ? (void *)steps : stats + s->offset + k * s->channels;
            list[n].optional = k == 2; /* PyTorch writes it since 0.4.1 */
        }
    }
    *list_p = list;
    *n_p = n;
    return TC_OK;
}

tc_status tc_model_save(const char *path, const tc_graph *graph, int64_t steps,
                        const float *weights, const float *stats)
{
    tc_tensor *list = NULL;
    int64_t n = 0;
    /* The list serves reader and writer; the writer only reads from it. */
    tc_status status = list_model(graph, (float *)weights, (float *)stats, &steps, &list, &n);

    if (status == TC_OK)
        status = tc_safetensors_write(path, "{\"format\": \"pt\"}", list, n);
    tc_free(list);
    return status;
}

/* Leave out the classifiers of a file that was made for another number of classes. */
static tc_status skip_classifiers(const char *path, const tc_graph *graph, tc_tensor *list,
                                  int64_t *classes_p)
{
    tc_status status = TC_OK;

    *classes_p = graph->classes;
    for (int i = 0; status == TC_OK && i < graph->n_params; i++) {
        const tc_param *p = &graph->param[i];
        int64_t dims[4];
        if (graph->node[p->node].op != TC_OP_FC || p->dims[0] != graph->classes)
            continue;
        memcpy(dims, p->dims, sizeof dims);
        status = tc_safetensors_shape(path, p->name, p->n_dims, dims);
        if (status != TC_OK || dims[0] == graph->classes)
            continue;
        *classes_p = list[i].dims[0] = dims[0];
        list[i].data = NULL;
    }
    return status;
}

tc_status tc_model_load(const char *path, const tc_graph *graph, float *weights, float *stats,
                        int64_t *classes_p)
{
    tc_tensor *list = NULL;
    int64_t n = 0, steps = 0;
    tc_status status = list_model(graph, weights, stats, &steps, &list, &n);

    if (status == TC_OK && classes_p != NULL)
        status = skip_classifiers(path, graph, list, classes_p);
    if (status == TC_OK)
        status = tc_safetensors_read(path, list, n);
    tc_free(list);
    return status;
}

/* Momentum a parameter, step, best, and the sums of the epoch (not in the first checkpoints). */
static tc_status list_state(const tc_graph *graph, tc_checkpoint *ckpt, tc_tensor **list_p,
                            int64_t *n_p)
{
    tc_tensor *list = NULL;
    int64_t n = graph->n_params;
    tc_status status = tc_alloc(n + 3, sizeof *list, "tensor list", &list);

    if (status != TC_OK)
        return status;
    list_params(graph, "momentum.", ckpt->momentum, list);
    list[n++] = (tc_tensor){ .name = "step", .type = TC_TENSOR_I64, .data = &ckpt->step };
    list[n++] = (tc_tensor){ .name = "best", .type = TC_TENSOR_F64, .data = &ckpt->best };
    list[n++] = (tc_tensor){ .name = "epoch",
                             .type = TC_TENSOR_F64,
                             .n_dims = 1,
                             .dims = { sizeof ckpt->epoch / sizeof *ckpt->epoch },
                             .data = ckpt->epoch,
                             .optional = true };
    *list_p = list;
    *n_p = n;
    return TC_OK;
}

static tc_status save_state(const char *path, const tc_graph *graph, const tc_checkpoint *ckpt)
{
    tc_tensor *list = NULL;
    int64_t n = 0;
    char version[16];
    json_t *metadata = json_object();

    snprintf(version, sizeof version, "%d", TC_CHECKPOINT_VERSION);
    json_object_set_new(metadata, "tricolor_checkpoint", json_string(version));
    json_object_set_new(metadata, "options", json_string(ckpt->options ? ckpt->options : "{}"));
    char *text = json_dumps(metadata, JSON_COMPACT);
    json_decref(metadata);
    if (text == NULL)
        return tc_fail(TC_NOMEM, "%s: no metadata could be made", path);
    tc_status status = list_state(graph, (tc_checkpoint *)ckpt, &list, &n);
    if (status == TC_OK)
        status = tc_safetensors_write(path, text, list, n);
    tc_free(list);
    free(text);
    return status;
}

/* Check the version first, so that another one is named as such and not as a missing tensor. */
static tc_status take_metadata(const char *path, const char *text, tc_checkpoint *ckpt)
{
    json_t *metadata = json_loads(text, 0, NULL);
    const char *version = NULL, *options = NULL;
    tc_status status = TC_OK;

    if (json_unpack(metadata, "{s:s, s:s}", "tricolor_checkpoint", &version, "options", &options))
        status = tc_fail(TC_FORMAT, "%s: not the state of a tricolor checkpoint", path);
    else if (strtol(version, NULL, 10) != TC_CHECKPOINT_VERSION)
        status =
            tc_fail(TC_FORMAT,
                    "%s: checkpoint version %s, this program reads %d: continue the run with the "
                    "program that began it",
                    path, version, TC_CHECKPOINT_VERSION);
    if (status == TC_OK) {
        tc_free(ckpt->options);
        ckpt->options = NULL;
        status = tc_alloc((int64_t)strlen(options) + 1, 1, "options", &ckpt->options);
        if (status == TC_OK)
            strcpy(ckpt->options, options);
    }
    json_decref(metadata);
    return status;
}

static tc_status load_state(const char *path, const tc_graph *graph, tc_checkpoint *ckpt)
{
    tc_tensor *list = NULL;
    int64_t n = 0;
    char *text = NULL;
    tc_status status = list_state(graph, ckpt, &list, &n);

    if (status == TC_OK)
        status = tc_safetensors_metadata(path, &text);
    if (status == TC_OK)
        status = take_metadata(path, text, ckpt);
    if (status == TC_OK)
        status = tc_safetensors_read(path, list, n);
    tc_free(text);
    tc_free(list);
    return status;
}

/* ---- The folder ---- */

/* Remove a checkpoint's folder, which holds nothing but our files. */
static void remove_folder(const char *dir)
{
    static const char *const file[] = { "model.safetensors", "state.safetensors",
                                        "model.safetensors.tmp", "state.safetensors.tmp" };
    char path[PATH_SIZE];

    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++)
        if (join(path, "%s/%s", dir, file[i]) == TC_OK)
            unlink(path);
    rmdir(dir);
}

/* The step in a folder's name, or -1; *stale_p: a temporary one. */
static int64_t step_of(const char *name, bool *stale_p)
{
    int64_t step = -1;
    int end = 0;

    *stale_p = false;
    if (sscanf(name, "step-%" SCNd64 "%n", &step, &end) != 1 || end == 0 || step < 0)
        return -1;
    *stale_p = strcmp(name + end, ".tmp") == 0;
    return name[end] == '\0' || *stale_p ? step : -1;
}

static bool is_complete(const char *dir, const char *name)
{
    char path[PATH_SIZE];

    /* The folder got its name after both files were synced. */
    return join(path, "%s/%s/model.safetensors", dir, name) == TC_OK && access(path, R_OK) == 0 &&
           join(path, "%s/%s/state.safetensors", dir, name) == TC_OK && access(path, R_OK) == 0;
}

/* Name the newest complete checkpoint: what `latest` says, else (a crash came between) the one of
 * the highest step. */
static bool find_latest(const char *dir, char name[64])
{
    char path[PATH_SIZE];
    FILE *file = join(path, "%s/latest", dir) == TC_OK ? fopen(path, "re") : NULL;
    bool found = file != NULL && fscanf(file, "%63s", name) == 1 && is_complete(dir, name);
    int64_t best = -1;

    if (file != NULL)
        fclose(file);
    DIR *folder = found ? NULL : opendir(dir);
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        bool stale;
        int64_t step = step_of(e->d_name, &stale);
        if (step > best && !stale && strlen(e->d_name) < 64 && is_complete(dir, e->d_name)) {
            best = step;
            strcpy(name, e->d_name);
            found = true;
        }
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

bool tc_checkpoint_exists(const char *dir)
{
    char name[64];

    return find_latest(dir, name);
}

static int is_ours(const struct dirent *entry)
{
    bool stale;

    return step_of(entry->d_name, &stale) >= 0;
}

/* Remove temporary folders, all but the newest `keep` up to step `last`, and those beyond it, which
 * are left from a run that was resumed from before them. */
static tc_status prune(const char *dir, int keep, int64_t last)
{
    char path[PATH_SIZE];
    struct dirent **entry = NULL;
    int kept = 0, n = scandir(dir, &entry, is_ours, versionsort);
    bool stale;

    if (n < 0)
        return tc_fail(TC_IO, "%s: cannot read the folder: %s", dir, strerror(errno));
    while (n-- > 0) {
        int64_t step = step_of(entry[n]->d_name, &stale);
        if (!stale && step <= last && kept < keep)
            kept++;
        else if (join(path, "%s/%s", dir, entry[n]->d_name) == TC_OK)
            remove_folder(path);
        free(entry[n]);
    }
    free(entry);
    return TC_OK;
}

tc_status tc_checkpoint_clear(const char *dir)
{
    static const char *const mark[] = { "latest", "DONE" };
    char path[PATH_SIZE];

    if (access(dir, F_OK) != 0 && errno == ENOENT)
        return TC_OK;
    for (int i = 0; i < 2; i++)
        if (join(path, "%s/%s", dir, mark[i]) == TC_OK && unlink(path) != 0 && errno != ENOENT)
            return tc_fail(TC_IO, "%s: cannot remove: %s", path, strerror(errno));
    return prune(dir, 0, INT64_MAX);
}

/* Create every missing folder of a path. */
static tc_status make_folders(const char *dir)
{
    char path[PATH_SIZE];
    tc_status status = join(path, "%s", dir);

    if (status != TC_OK)
        return status;
    for (char *c = path + 1; *c != '\0'; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        mkdir(path, 0777); /* the last mkdir() reports what is wrong */
        *c = '/';
    }
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return tc_fail(TC_IO, "%s: cannot create the folder: %s", dir, strerror(errno));
    return TC_OK;
}

tc_status tc_checkpoint_prepare(const char *dir)
{
    tc_status status = make_folders(dir);

    if (status == TC_OK && access(dir, W_OK | X_OK) != 0)
        status = tc_fail(TC_IO, "%s: no checkpoint can be written there: %s", dir, strerror(errno));
    return status;
}

/* Write a line to dir/name: temporary name, sync, rename, sync of the folder. */
static tc_status write_mark(const char *dir, const char *name, const char *line)
{
    char path[PATH_SIZE], tmp[PATH_SIZE];
    FILE *file = NULL;
    tc_status status = join(path, "%s/%s", dir, name);

    if (status == TC_OK)
        status = join(tmp, "%s/%s.tmp", dir, name);
    if (status != TC_OK)
        return status;
    file = fopen(tmp, "we");
    bool ok = file != NULL && fprintf(file, "%s\n", line) > 0 && fflush(file) == 0 &&
              fsync(fileno(file)) == 0;
    if (file != NULL && fclose(file) != 0)
        ok = false;
    if (!ok || rename(tmp, path) != 0)
        return tc_fail(TC_IO, "%s: cannot write: %s", path, strerror(errno));
    return tc_sync_parent(path);
}

tc_status tc_checkpoint_save(const char *dir, int keep, const tc_graph *graph,
                             const tc_checkpoint *ckpt)
{
    char name[64], final[PATH_SIZE], tmp[PATH_SIZE], path[PATH_SIZE];
    tc_status status = make_folders(dir);

    snprintf(name, sizeof name, STEP_NAME, ckpt->step);
    if (status == TC_OK)
        status = join(final, "%s/%s", dir, name);
    if (status == TC_OK)
        status = join(tmp, "%s.tmp", final);
    if (status != TC_OK)
        return status;
    remove_folder(tmp);
    if (mkdir(tmp, 0777) != 0)
        return tc_fail(TC_IO, "%s: cannot create the folder: %s", tmp, strerror(errno));
    if ((status = join(path, "%s/model.safetensors", tmp)) == TC_OK)
        status = tc_model_save(path, graph, ckpt->step, ckpt->weights, ckpt->stats);
    if (status == TC_OK && (status = join(path, "%s/state.safetensors", tmp)) == TC_OK)
        status = save_state(path, graph, ckpt);
    if (status != TC_OK) {
        remove_folder(tmp);
        return status;
    }
    remove_folder(final); /* the same step again: after a resume that did nothing */
    if (rename(tmp, final) != 0)
        return tc_fail(TC_IO, "%s: cannot rename to %s: %s", tmp, final, strerror(errno));
    status = tc_sync_parent(final);
    if (status == TC_OK)
        status = write_mark(dir, "latest", name);
    return status == TC_OK ? prune(dir, keep > 0 ? keep : 1, ckpt->step) : status;
}

tc_status tc_checkpoint_options(const char *dir, char **options_p)
{
    char name[64], path[PATH_SIZE], *text = NULL;
    tc_checkpoint ckpt = { 0 };

    if (!find_latest(dir, name))
        return tc_fail(TC_IO, "%s: no complete checkpoint there", dir);
    tc_status status = join(path, "%s/%s/state.safetensors", dir, name);
    if (status == TC_OK)
        status = tc_safetensors_metadata(path, &text);
    if (status == TC_OK)
        status = take_metadata(path, text, &ckpt);
    if (status == TC_OK)
        *options_p = ckpt.options;
    tc_free(text);
    return status;
}

tc_status tc_checkpoint_load(const char *dir, const tc_graph *graph, tc_checkpoint *ckpt)
{
    char name[64], path[PATH_SIZE];

    if (!find_latest(dir, name))
        return tc_fail(TC_IO, "%s: no complete checkpoint there", dir);
    tc_status status = join(path, "%s/%s/state.safetensors", dir, name);
    if (status == TC_OK)
        status = load_state(path, graph, ckpt);
    if (status == TC_OK)
        status = join(path, "%s/%s/model.safetensors", dir, name);
    if (status == TC_OK)
        status = tc_model_load(path, graph, ckpt->weights, ckpt->stats, NULL);
    return status;
}

tc_status tc_checkpoint_mark_done(const char *dir)
{
    return write_mark(dir, "DONE", "done");
}

tc_status tc_checkpoint_unmark_done(const char *dir)
{
    char path[PATH_SIZE];
    tc_status status = join(path, "%s/DONE", dir);

    if (status == TC_OK && unlink(path) != 0 && errno != ENOENT)
        status = tc_fail(TC_IO, "%s: cannot remove: %s", path, strerror(errno));
    return status;
}

bool tc_checkpoint_is_done(const char *dir)
{
    char path[PATH_SIZE];

    return join(path, "%s/DONE", dir) == TC_OK && access(path, F_OK) == 0;
}

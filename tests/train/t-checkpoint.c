/* Checkpoints: round trip, what is kept, and that every kind of damage is refused by name. */
#include <config.h>

#include "base/mem.h"
#include "train/checkpoint.h"
#include "train/safetensors.h"

#include "../tap.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/tricolor-ckpt.XXXXXX";

/* A graph's tables are all that a checkpoint looks at: one convolution of 2x3x1x1 and a BN. */
static tc_param param[] = {
    { .name = "conv1.weight", .n_dims = 4, .dims = { 2, 3, 1, 1 }, .offset = 0, .count = 6 },
    { .name = "bn1.weight", .n_dims = 1, .dims = { 2 }, .offset = 6, .count = 2 },
    { .name = "bn1.bias", .n_dims = 1, .dims = { 2 }, .offset = 8, .count = 2 },
};
static tc_stat stat_of[] = { { .name = "bn1", .offset = 0, .channels = 2 } };
static const tc_graph graph = { .name = "tiny",
                                .param = param,
                                .n_params = 3,
                                .stat = stat_of,
                                .n_stats = 1,
                                .param_count = 10,
                                .stat_count = 4 };

static const char *in_dir(const char *name)
{
    static char path[4][512];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static void fill(tc_checkpoint *c, int64_t step)
{
    c->step = step;
    c->best = 0.5 + (double)step * 1e-3;
    for (int i = 0; i < 10; i++) {
        c->weights[i] = (float)i * 0.1f + (float)step;
        c->momentum[i] = -(float)i / 3.0f;
    }
    for (int i = 0; i < 4; i++)
        c->stats[i] = 1.0f / (float)(i + 1);
}

static void round_trip(tc_checkpoint *c, tc_checkpoint *d)
{
    char *options = NULL;

    tap_ok(!tc_checkpoint_exists(dir) && tc_checkpoint_load(dir, &graph, d) == TC_IO,
           "an empty folder has none");
    fill(c, 12);
    if (tc_alloc(64, 1, "options", &options) == TC_OK)
        strcpy(options, "{\"batch\":32,\"model\":\"ti\\\"ny\"}");
    c->options = options;
    tap_ok(tc_checkpoint_save(dir, 2, &graph, c) == TC_OK && tc_checkpoint_exists(dir), "saved");
    bool ok = tc_checkpoint_load(dir, &graph, d) == TC_OK;
    tap_ok(ok && d->step == 12 && d->best == c->best && strcmp(d->options, options) == 0 &&
               memcmp(d->weights, c->weights, 10 * sizeof(float)) == 0 &&
               memcmp(d->momentum, c->momentum, 10 * sizeof(float)) == 0 &&
               memcmp(d->stats, c->stats, 4 * sizeof(float)) == 0,
           "everything comes back bit by bit");

    fill(c, 5);
    ok = tc_checkpoint_save(dir, 2, &graph, c) == TC_OK;
    tap_ok(ok && tc_checkpoint_load(dir, &graph, d) == TC_OK && d->step == 5 &&
               access(in_dir("step-000000012"), F_OK) != 0,
           "`latest` counts, and a checkpoint of an abandoned future goes");
    for (int64_t step = 20; step <= 50 && ok; step += 10) {
        fill(c, step);
        ok = tc_checkpoint_save(dir, 2, &graph, c) == TC_OK;
    }
    tap_ok(ok && access(in_dir("step-000000050"), F_OK) == 0 &&
               access(in_dir("step-000000040"), F_OK) == 0 &&
               access(in_dir("step-000000030"), F_OK) != 0 &&
               access(in_dir("step-000000005"), F_OK) != 0,
           "the last 2 are kept");
    tap_ok(tc_checkpoint_save(dir, 2, &graph, c) == TC_OK &&
               tc_checkpoint_load(dir, &graph, d) == TC_OK && d->step == 50,
           "the same step may be saved again");
    tap_ok(!tc_checkpoint_is_done(dir) && tc_checkpoint_mark_done(dir) == TC_OK &&
               tc_checkpoint_is_done(dir),
           "DONE");
}

/* A crash leaves a temporary folder, or a folder that `latest` does not name yet. */
static void crashes(tc_checkpoint *c, tc_checkpoint *d)
{
    bool ok = mkdir(in_dir("step-000000060.tmp"), 0777) == 0 &&
              tc_model_save(in_dir("step-000000060.tmp/model.safetensors"), &graph, 60, c->weights,
                            c->stats) == TC_OK;

    tap_ok(ok && tc_checkpoint_load(dir, &graph, d) == TC_OK && d->step == 50,
           "a half-written checkpoint is not seen");
    unlink(in_dir("latest"));
    tap_ok(tc_checkpoint_load(dir, &graph, d) == TC_OK && d->step == 50,
           "without `latest` the newest complete one is found");
    fill(c, 60);
    tap_ok(tc_checkpoint_save(dir, 1, &graph, c) == TC_OK &&
               access(in_dir("step-000000060.tmp"), F_OK) != 0,
           "and the next save clears it away");
}

static bool load_says(tc_status want, const char *text, tc_checkpoint *d, const tc_graph *g)
{
    tc_status status = tc_checkpoint_load(dir, g, d);
    bool ok = status == want && strstr(tc_error_detail(), text) != NULL;

    if (!ok)
        printf("# status %d: %s\n", status, tc_error_detail());
    return ok;
}

static void other_shapes(tc_checkpoint *d)
{
    tc_param other[4] = { param[0],
                          param[1],
                          param[2],
                          { .name = "fc.weight", .n_dims = 2, .dims = { 2, 2 }, .offset = 0 } };
    tc_graph g = graph;

    g.param = other;
    other[0].dims[1] = 4;
    tap_ok(load_says(TC_FORMAT,
                     "conv1.weight has shape (2, 3, 1, 1), this model needs (2, 4, 1, 1)", d, &g),
           "a tensor of another shape is named with both");
    other[0] = param[0];
    g.n_params = 4;
    tap_ok(load_says(TC_FORMAT, "fc.weight is missing", d, &g), "a missing tensor is named");
    g.n_params = 2;
    tap_ok(load_says(TC_FORMAT, "bn1.bias has no place", d, &g), "a tensor too many is named");
}

static void damage(tc_checkpoint *c, tc_checkpoint *d)
{
    char *state = strdup(in_dir("step-000000060/state.safetensors"));
    char *model = strdup(in_dir("step-000000060/model.safetensors"));
    struct stat st;
    float x = 0;
    tc_tensor one = { .name = "x", .type = TC_TENSOR_F32, .data = &x };

    stat(model, &st);
    bool ok = truncate(model, st.st_size - 1) == 0;
    tap_ok(ok && load_says(TC_FORMAT, "truncated", d, &graph), "one byte short");
    ok = truncate(model, 5) == 0;
    tap_ok(ok && load_says(TC_FORMAT, model, d, &graph), "five bytes");
    ok = truncate(model, 0) == 0;
    tap_ok(ok && load_says(TC_FORMAT, model, d, &graph), "an empty file");
    FILE *file = fopen(model, "w");
    fputs("this is a text file, longer than eight bytes", file);
    fclose(file);
    tap_ok(load_says(TC_FORMAT, "not a safetensors file", d, &graph), "a text file");
    tap_ok(tc_model_save(model, &graph, 1, c->weights, c->stats) == TC_OK &&
               tc_checkpoint_load(dir, &graph, d) == TC_OK,
           "written anew it loads again");

    ok = tc_safetensors_write(state, "{\"tricolor_checkpoint\":\"999\",\"options\":\"{}\"}", &one,
                              1) == TC_OK;
    tap_ok(ok && load_says(TC_FORMAT, "version 999", d, &graph), "another version is named");
    ok = tc_safetensors_write(state, NULL, &one, 1) == TC_OK;
    tap_ok(ok && load_says(TC_FORMAT, "not the state", d, &graph), "no state at all");
    tap_ok(tc_safetensors_write(state, "{", &one, 1) == TC_INVAL, "metadata must be JSON");
    unlink(state);
    tap_ok(load_says(TC_IO, "no complete checkpoint", d, &graph), "half of it is none");
    tap_ok(tc_model_save("/nowhere/at/all", &graph, 1, c->weights, c->stats) == TC_IO,
           "a folder that is missing");
    free(state);
    free(model);
}

/* Headers that a hostile or damaged file may have. */
static void offsets(void)
{
    static const struct {
        const char *header, *says;
    } bad[] = {
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", "exactly" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
          "\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
          "exactly" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,4]}}", "data_offsets" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", "truncated" },
        { "{\"x\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,8]}}", "type F16" },
        { "{\"x\":{\"shape\":[2],\"data_offsets\":[0,8]}}", "malformed" },
        { "[1,2]", "JSON" },
        { "{\"x\":", "JSON" },
    };
    float x[2];
    tc_tensor list = { .name = "x", .type = TC_TENSOR_F32, .n_dims = 1, .dims = { 2 }, .data = x };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *path = in_dir("bad");
        uint64_t length = strlen(bad[i].header);
        FILE *file = fopen(path, "w");
        fwrite(&length, 8, 1, file);
        fwrite(bad[i].header, 1, length, file);
        fwrite("12345678", 1, 8, file);
        fclose(file);
        tc_status status = tc_safetensors_read(path, &list, 1);
        tap_ok(status == TC_FORMAT && strstr(tc_error_detail(), bad[i].says) != NULL,
               "refused: %s (%s)", bad[i].header, bad[i].says);
    }
}

int main(void)
{
    tc_checkpoint c, d;
    char command[600];

    if (mkdtemp(dir) == NULL || tc_checkpoint_create(&graph, &c) != TC_OK ||
        tc_checkpoint_create(&graph, &d) != TC_OK)
        return 1;
    round_trip(&c, &d);
    crashes(&c, &d);
    other_shapes(&d);
    damage(&c, &d);
    offsets();
    tap_ok(tc_checkpoint_clear(dir) == TC_OK && !tc_checkpoint_exists(dir) &&
               !tc_checkpoint_is_done(dir) && access(in_dir("step-000000060"), F_OK) != 0,
           "cleared");
    tc_checkpoint_free(&c);
    tc_checkpoint_free(&d);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) == 0 ? tap_done() : 1;
}

#include <config.h>

#include "data-prep/pipeline.h"

#include "data-prep/walk.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define SLOTS_A_THREAD 4
#define INSIDE_MAX     ((size_t)256 << 20) /* bytes of source pictures in the ring */
#define KEEP_CAPACITY  ((size_t)16 << 20)  /* a slot's buffer above this is given back */

typedef struct {
    tc_buffer in, out;
    tc_buffer text; /* name, member and file, each closed by NUL */
    const char *name, *member, *file;
    int32_t label;
    tc_recoded result;
    uint64_t source;
    tc_journal_entry known;
    bool is_known, done;
    tc_status status;
    char why[1024];
} slot;

struct tc_pipeline {
    tc_pipeline_options options;
    slot *slots;
    int n_slots, n_threads; /* n_threads: running */
    pthread_t *threads;
    pthread_mutex_t lock;
    pthread_cond_t filled, finished;
    uint64_t put, taken, retired; /* slots by now; slot i is i mod n_slots */
    size_t inside;                /* bytes */
    bool ending;
};

static void work_on(tc_recoder *recoder, slot *s)
{
    s->result = (tc_recoded){ .fault = TC_FAULT_LIMIT }; /* of a file too large to be read */
    tc_status status = s->file == NULL ? TC_OK : tc_read_file(s->file, &s->in);

    s->source = status == TC_OK ? XXH3_64bits(s->in.data, s->in.bytes) : 0;
    if (s->is_known && (status == TC_OK || status == TC_FORMAT)) {
        s->result = s->known.result;
        memcpy(s->why, s->known.why, sizeof s->why);
        s->status = s->source != s->known.source ? TC_STOPPED
                    : s->known.bytes == 0        ? TC_FORMAT
                                                 : TC_OK;
        return;
    }
    if (status == TC_OK)
        status = tc_recode(recoder, &s->in, &s->out, &s->result);
    s->status = status;
    if (status != TC_OK)
        snprintf(s->why, sizeof s->why, "%s", tc_error_detail());
}

static void *worker(void *argument)
{
    tc_pipeline *pipeline = argument;
    tc_recoder *recoder = NULL;
    tc_status status = tc_recoder_create(&pipeline->options.recode, &recoder);

    pthread_mutex_lock(&pipeline->lock);
    for (;;) {
        while (!pipeline->ending && pipeline->taken == pipeline->put)
            pthread_cond_wait(&pipeline->filled, &pipeline->lock);
        if (pipeline->ending)
            break;
        slot *s = &pipeline->slots[pipeline->taken++ % (uint64_t)pipeline->n_slots];
        pthread_mutex_unlock(&pipeline->lock);
        if (status == TC_OK) {
            work_on(recoder, s);
        } else {
            s->status = status; /* its own memory was refused: every picture says so */
            snprintf(s->why, sizeof s->why, "%s", tc_error_detail());
        }
        pthread_mutex_lock(&pipeline->lock);
        s->done = true;
        pthread_cond_signal(&pipeline->finished);
    }
    pthread_mutex_unlock(&pipeline->lock);
    tc_recoder_destroy(recoder);
    return NULL;
}

tc_status tc_pipeline_create(const tc_pipeline_options *options, tc_pipeline **pipeline_p)
{
    tc_pipeline *pipeline = NULL;

    tc_status status = tc_alloc(1, sizeof *pipeline, "pipeline", &pipeline);
    if (status != TC_OK)
        return status;
    pipeline->options = *options;
    pipeline->n_slots = options->threads * SLOTS_A_THREAD + 1;
    pthread_mutex_init(&pipeline->lock, NULL);
    pthread_cond_init(&pipeline->filled, NULL);
    pthread_cond_init(&pipeline->finished, NULL);
    status = tc_alloc(pipeline->n_slots, sizeof *pipeline->slots, "slots", &pipeline->slots);
    if (status == TC_OK)
        status =
            tc_alloc(options->threads, sizeof *pipeline->threads, "threads", &pipeline->threads);
    for (int t = 0; status == TC_OK && t < options->threads; t++) {
        int rc = pthread_create(&pipeline->threads[t], NULL, worker, pipeline);
        if (rc == 0)
            pipeline->n_threads++;
        else
            status = tc_fail(TC_NOMEM, "thread %d of %d cannot be started: %s; use --threads", t,
                             options->threads, strerror(rc));
    }
    if (status != TC_OK) {
        tc_pipeline_destroy(pipeline);
        return status;
    }
    *pipeline_p = pipeline;
    return TC_OK;
}

void tc_pipeline_destroy(tc_pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    pthread_mutex_lock(&pipeline->lock);
    pipeline->ending = true;
    pthread_cond_broadcast(&pipeline->filled);
    pthread_mutex_unlock(&pipeline->lock);
    for (int t = 0; t < pipeline->n_threads; t++)
        pthread_join(pipeline->threads[t], NULL);
    for (int i = 0; pipeline->slots != NULL && i < pipeline->n_slots; i++) {
        tc_buffer_free(&pipeline->slots[i].in);
        tc_buffer_free(&pipeline->slots[i].out);
        tc_buffer_free(&pipeline->slots[i].text);
    }
    pthread_cond_destroy(&pipeline->finished);
    pthread_cond_destroy(&pipeline->filled);
    pthread_mutex_destroy(&pipeline->lock);
    tc_free(pipeline->slots);
    tc_free(pipeline->threads);
    tc_free(pipeline);
}

/* Wait for the oldest slot and hand it to the sink. */
static tc_status retire(tc_pipeline *pipeline)
{
    slot *s = &pipeline->slots[pipeline->retired % (uint64_t)pipeline->n_slots];

    pthread_mutex_lock(&pipeline->lock);
    while (!s->done)
        pthread_cond_wait(&pipeline->finished, &pipeline->lock);
    pthread_mutex_unlock(&pipeline->lock);
    bool fresh = s->out.bytes > 0;
    const uint8_t *data = fresh ? s->out.data : s->in.data;
    size_t bytes = fresh ? s->out.bytes : s->in.bytes;
    tc_packed packed = { .name = s->name,
                         .member = s->member,
                         .label = s->label,
                         .data = s->is_known ? NULL : data,
                         .bytes = s->is_known ? s->known.bytes : bytes,
                         .checksum = s->known.checksum,
                         .source = s->source,
                         .known = s->is_known,
                         .result = s->result,
                         .status = s->status,
                         .why = s->why };
    tc_status status = pipeline->options.sink(pipeline->options.context, &packed);
    if (s->file == NULL)
        pipeline->inside -= s->in.bytes;
    if (s->in.capacity > KEEP_CAPACITY)
        tc_buffer_free(&s->in);
    if (s->out.capacity > KEEP_CAPACITY)
        tc_buffer_free(&s->out);
    pipeline->retired++;
    return status;
}

tc_status tc_pipeline_drain(tc_pipeline *pipeline)
{
    tc_status status = TC_OK;

    while (status == TC_OK && pipeline->retired < pipeline->put)
        status = retire(pipeline);
    return status;
}

/* Copy the three texts into the slot. */
static tc_status set_texts(slot *s, const char *name, const char *member, const char *file)
{
    size_t n = strlen(name) + 1, m = strlen(member) + 1, f = file == NULL ? 0 : strlen(file) + 1;

    s->text.bytes = 0;
    tc_status status = tc_buffer_append(&s->text, name, n);
    if (status == TC_OK)
        status = tc_buffer_append(&s->text, member, m);
    if (status == TC_OK && f > 0)
        status = tc_buffer_append(&s->text, file, f);
    if (status != TC_OK)
        return status;
    s->name = (const char *)s->text.data;
    s->member = s->name + n;
    s->file = f > 0 ? s->member + m : NULL;
    return TC_OK;
}

tc_status tc_pipeline_put(tc_pipeline *pipeline, const char *name, const char *member,
                          int32_t label, const char *file, tc_buffer *data,
                          const tc_journal_entry *known)
{
    tc_status status = TC_OK;

    while (status == TC_OK && pipeline->put > pipeline->retired &&
           (pipeline->put - pipeline->retired == (uint64_t)pipeline->n_slots ||
            pipeline->inside > INSIDE_MAX))
        status = retire(pipeline);
    slot *s = &pipeline->slots[pipeline->put % (uint64_t)pipeline->n_slots];
    if (status == TC_OK)
        status = set_texts(s, name, member, file);
    if (status != TC_OK)
        return status;
    if (file == NULL) {
        tc_buffer other = s->in;
        s->in = *data;
        *data = other;
        data->bytes = 0;
        pipeline->inside += s->in.bytes;
    }
    s->label = label;
    s->is_known = known != NULL;
    if (known != NULL)
        s->known = *known;
    s->done = false;
    s->why[0] = '\0';
    pthread_mutex_lock(&pipeline->lock);
    pipeline->put++;
    pthread_cond_signal(&pipeline->filled);
    pthread_mutex_unlock(&pipeline->lock);
    return TC_OK;
}

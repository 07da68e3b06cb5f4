#include <config.h>

#include "allreduce/spec.h"

#include "base/parse.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define SPEC_MAX 160

static tc_status find_name(const char *name, const char **name_p)
{
    char list[256] = "";
    size_t used = 0;

    for (int i = 0; tc_allreduce_name(i) != NULL; i++) {
        if (strcmp(name, tc_allreduce_name(i)) == 0) {
            *name_p = tc_allreduce_name(i);
            return TC_OK;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                     tc_allreduce_name(i));
    }
    if (strcmp(name, "auto") == 0) {
        *name_p = "auto";
        return TC_OK;
    }
    return tc_fail(TC_INVAL, "no allreduce is called '%s': choose one of %s, auto", name, list);
}

static tc_status set_int(const char *key, const char *value, int low, int *x_p)
{
    int64_t x = 0;
    tc_status status = tc_parse_size(key, value, low, 1 << 30, &x);

    if (status == TC_OK)
        *x_p = (int)x;
    return status;
}

static const char *const wire_word[] = { "f32", "bf16", "f16" };

static tc_status set_wire(const char *value, tc_wire_type *wire_p)
{
    for (int i = TC_WIRE_F32; i <= TC_WIRE_F16; i++)
        if (strcmp(value, wire_word[i]) == 0) {
            *wire_p = (tc_wire_type)i;
            return TC_OK;
        }
    return tc_fail(TC_INVAL, "wire=%s: unknown; it may be: f32, bf16, f16", value);
}

static bool is(const char *key, const char *name, const char *other)
{
    return strcmp(key, name) == 0 || strcmp(key, other) == 0;
}

static tc_status set_value(tc_allreduce_spec *spec, const char *key, const char *value)
{
    tc_allreduce_options *o = &spec->options;

    if (strcmp(o->algorithm, "mpi") == 0) {
        if (strcmp(key, "algorithm") == 0)
            return set_int(key, value, 0, &spec->mpi_algorithm);
        return tc_fail(TC_INVAL, "mpi has no '%s': algorithm=N alone may be given", key);
    }
    if (strcmp(o->algorithm, "multicolor") == 0 && is(key, "k", "colors"))
        return set_int(key, value, 0, &o->colors);
    if (strcmp(o->algorithm, "multicolor") == 0 && is(key, "d", "arity"))
        return set_int(key, value, -1, &o->arity);
    if (strcmp(key, "wire") == 0)
        return set_wire(value, &o->wire);
    if (strcmp(o->algorithm, "auto") == 0)
        return tc_fail(TC_INVAL, "auto has no '%s': wire alone may be given", key);
    if (strcmp(key, "chunk") == 0)
        return tc_parse_size(key, value, -1, INT64_C(1) << 31, &o->chunk);
    if (is(key, "window", "w"))
        return set_int(key, value, 0, &o->window);
    return tc_fail(TC_INVAL, "%s has no '%s': %schunk, window, wire may be given", o->algorithm,
                   key, strcmp(o->algorithm, "multicolor") == 0 ? "k, d, " : "");
}

tc_status tc_allreduce_spec_parse(const char *text, tc_allreduce_spec *spec_p)
{
    tc_allreduce_spec spec = { .options = { .arity = -1 } };
    char copy[SPEC_MAX], *save = NULL;
    size_t length = strlen(text);

    if (length >= sizeof copy)
        return tc_fail(TC_INVAL, "an allreduce of %zu characters: at most %zu are read", length,
                       sizeof copy - 1);
    memcpy(copy, text, length + 1);
    char *colon = strchr(copy, ':');
    if (colon != NULL)
        *colon = '\0';
    tc_status status = find_name(copy, &spec.options.algorithm);
    for (char *word = colon ? strtok_r(colon + 1, ",", &save) : NULL; word && status == TC_OK;
         word = strtok_r(NULL, ",", &save)) {
        char *value = strchr(word, '=');
        if (value == NULL)
            return tc_fail(TC_INVAL, "allreduce '%s': '%s' is not KEY=VALUE", text, word);
        *value++ = '\0';
        status = set_value(&spec, word, value);
    }
    if (status == TC_OK)
        *spec_p = spec;
    return status;
}

/* Where the spec at the beginning of the list ends. */
static size_t spec_length(const char *list)
{
    size_t end = strcspn(list, ", ");

    while (list[end] == ',') {
        const char *next = list + end + 1;
        size_t length = strcspn(next, ", ");
        if (memchr(next, '=', length) == NULL || memchr(next, ':', length) != NULL)
            break;
        end += 1 + length;
    }
    return end;
}

tc_status tc_allreduce_spec_cut(const char **list_p, char *spec, size_t size)
{
    const char *list = *list_p + strspn(*list_p, ", ");
    size_t length = spec_length(list);

    if (length >= size)
        return tc_fail(TC_INVAL, "'%.40s…': an allreduce of more than %zu characters", list,
                       size - 1);
    memcpy(spec, list, length);
    spec[length] = '\0';
    *list_p = list + length;
    return TC_OK;
}

void tc_allreduce_spec_print(const tc_allreduce_spec *spec, char *text, size_t size)
{
    const tc_allreduce_options *o = &spec->options;
    const struct {
        const char *key;
        int64_t value, usual;
    } list[] = {
        { "k", o->colors, 0 },
        { "d", o->arity, -1 },
        { "chunk", o->chunk, 0 },
        { "window", o->window, 0 },
        { "algorithm", spec->mpi_algorithm, 0 },
    };
    int used = snprintf(text, size, "%s", o->algorithm);
    char between = ':';

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        if (list[i].value == list[i].usual || used < 0 || (size_t)used >= size)
            continue;
        used += snprintf(text + used, size - (size_t)used, "%c%s=%lld", between, list[i].key,
                         (long long)list[i].value);
        between = ',';
    }
    if (o->wire != TC_WIRE_F32 && used >= 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, "%cwire=%s", between, wire_word[o->wire]);
}

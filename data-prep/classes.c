#include <config.h>

#include "data-prep/classes.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

typedef struct {
    char name[TC_CLASS_NAME_MAX];
    uint64_t met, taken, kept; /* pictures: in the source, to be packed, packed */
} met_class;

/* A set of 128-bit hashes, open addressing; all zero is an empty place. */
typedef struct {
    XXH128_hash_t *slots;
    uint64_t size, used; /* size is a power of two */
} name_set;

struct tc_classes {
    const tc_dataset *fixed;
    bool numeric;
    tc_buffer list; /* of met_class */
    int64_t count;
    int32_t *table; /* open addressing: class + 1, 0 empty */
    int64_t table_size;
    int32_t *map;
    name_set names;
};

tc_status tc_classes_create(const tc_dataset *fixed, bool numeric, tc_classes **classes_p)
{
    tc_classes *classes = NULL;

    tc_status status = tc_alloc(1, sizeof *classes, "classes", &classes);
    if (status != TC_OK)
        return status;
    classes->fixed = fixed;
    classes->numeric = numeric;
    classes->table_size = 1024;
    classes->names.size = 1 << 16;
    status = tc_alloc(classes->table_size, sizeof *classes->table, "classes", &classes->table);
    if (status == TC_OK)
        status = tc_alloc((int64_t)classes->names.size, sizeof *classes->names.slots, "names",
                          &classes->names.slots);
    if (status != TC_OK) {
        tc_classes_destroy(classes);
        return status;
    }
    *classes_p = classes;
    return TC_OK;
}

void tc_classes_destroy(tc_classes *classes)
{
    if (classes == NULL)
        return;
    tc_buffer_free(&classes->list);
    tc_free(classes->table);
    tc_free(classes->map);
    tc_free(classes->names.slots);
    tc_free(classes);
}

static met_class *at(const tc_classes *classes, int64_t c)
{
    return (met_class *)(void *)classes->list.data + c;
}

/* The place of a name in the table: its own, or the empty one where it belongs. */
static int32_t *place(const tc_classes *classes, const char *name)
{
    uint64_t i = XXH3_64bits(name, strlen(name)), mask = (uint64_t)classes->table_size - 1;

    while (classes->table[i & mask] != 0 &&
           strcmp(at(classes, classes->table[i & mask] - 1)->name, name) != 0)
        i++;
    return &classes->table[i & mask];
}

static tc_status grow_table(tc_classes *classes)
{
    int32_t *table = NULL;

    if (classes->count * 2 < classes->table_size)
        return TC_OK;
    tc_status status = tc_alloc(classes->table_size * 2, sizeof *table, "classes", &table);
    if (status != TC_OK)
        return status;
    tc_free(classes->table);
    classes->table = table;
    classes->table_size *= 2;
    for (int64_t c = 0; c < classes->count; c++)
        *place(classes, at(classes, c)->name) = (int32_t)c + 1;
    return TC_OK;
}

/* Without overlong forms and surrogates. */
bool tc_is_text(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    while (*p != '\0') {
        int more = *p < 0x80   ? 0
                   : *p < 0xc2 ? -1
                   : *p < 0xe0 ? 1
                   : *p < 0xf0 ? 2
                   : *p < 0xf5 ? 3
                               : -1;
        bool bad = more < 0 || *p < 0x20 || *p == 0x7f || (*p == 0xe0 && p[1] < 0xa0) ||
                   (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
                   (*p == 0xf4 && p[1] > 0x8f);
        for (int i = 1; !bad && i <= more; i++)
            bad = (p[i] & 0xc0) != 0x80;
        if (bad)
            return false;
        p += more + 1;
    }
    return true;
}

bool tc_is_number(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && length <= 18 && strspn(name, "0123456789") == length;
}

bool tc_classes_lacks(const tc_classes *classes, const char *name, size_t length)
{
    const tc_dataset *map = classes->fixed;

    for (int64_t c = 0; map != NULL && c < map->n_classes; c++)
        if (strncmp(map->classes[c].name, name, length) == 0 &&
            map->classes[c].name[length] == '\0')
            return false;
    return map != NULL;
}

static tc_status add(tc_classes *classes, const met_class *fresh)
{
    if (!tc_is_text(fresh->name))
        return tc_fail(TC_FORMAT, "class folder \"%s\": its name is not UTF-8 text; rename it",
                       fresh->name);
    if (classes->fixed == NULL && classes->numeric && !tc_is_number(fresh->name))
        return tc_fail(TC_FORMAT, "class folder %s: not a whole number, as --numeric wants them",
                       fresh->name);
    if (tc_classes_lacks(classes, fresh->name, strlen(fresh->name)))
        return tc_fail(TC_FORMAT,
                       "class folder %s is none of the %lld classes of %s; the two splits must "
                       "have the same classes (--subset passes over the pictures of others)",
                       fresh->name, (long long)classes->fixed->n_classes, classes->fixed->path);
    if (classes->count == INT32_MAX - 1)
        return tc_fail(TC_FORMAT, "too many classes");
    tc_status status = tc_buffer_append(&classes->list, fresh, sizeof *fresh);
    if (status == TC_OK) {
        *place(classes, fresh->name) = (int32_t)++classes->count;
        status = grow_table(classes);
    }
    return status;
}

tc_status tc_classes_find(tc_classes *classes, const char *name, size_t length, int32_t *class_p)
{
    met_class fresh = { .met = 0 };

    if (length >= sizeof fresh.name)
        return tc_fail(TC_FORMAT, "class folder %.60s…: its name is longer than %zu bytes", name,
                       sizeof fresh.name - 1);
    memcpy(fresh.name, name, length);
    int32_t found = *place(classes, fresh.name);
    if (found == 0) {
        tc_status status = add(classes, &fresh);
        if (status != TC_OK)
            return status;
        found = (int32_t)classes->count;
    }
    *class_p = found - 1;
    return TC_OK;
}

uint64_t tc_classes_meet(tc_classes *classes, int32_t c)
{
    return at(classes, c)->met++;
}

/* Put a hash into the set; false: it was there. */
static bool put(name_set *set, XXH128_hash_t hash)
{
    uint64_t i = hash.low64;
    XXH128_hash_t *slot;

    while (slot = &set->slots[i++ & (set->size - 1)], slot->low64 != 0 || slot->high64 != 0)
        if (slot->low64 == hash.low64 && slot->high64 == hash.high64)
            return false;
    *slot = hash;
    set->used++;
    return true;
}

void tc_classes_keep(tc_classes *classes, int32_t c)
{
    at(classes, c)->kept++;
}

tc_status tc_classes_take_name(tc_classes *classes, int32_t c, const char *name)
{
    name_set *set = &classes->names;

    if (set->used * 2 >= set->size) {
        name_set larger = { .size = set->size * 2 };
        tc_status status =
            tc_alloc((int64_t)larger.size, sizeof *larger.slots, "names", &larger.slots);
        if (status != TC_OK)
            return status;
        for (uint64_t i = 0; i < set->size; i++)
            if (set->slots[i].low64 != 0 || set->slots[i].high64 != 0)
                put(&larger, set->slots[i]);
        tc_free(set->slots);
        *set = larger;
    }
    if (!put(set, XXH3_128bits(name, strlen(name))))
        return tc_fail(TC_FORMAT, "%s: the source has it twice; names must be unique", name);
    at(classes, c)->taken++;
    return TC_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tc_class *)a)->name, ((const tc_class *)b)->name);
}

/* By value, as tc_is_number() has them; "7" before "07". */
static int by_value(const void *a, const void *b)
{
    long long x = strtoll(((const tc_class *)a)->name, NULL, 10);
    long long y = strtoll(((const tc_class *)b)->name, NULL, 10);

    return x != y ? (x > y) - (x < y) : -by_name(a, b);
}

/* All classes met, sorted, or those of the fixed map. */
static tc_status list_classes(const tc_classes *classes, tc_class **list_p, int64_t *n_p)
{
    int64_t n = classes->fixed != NULL ? classes->fixed->n_classes : classes->count;
    tc_class *list = NULL;

    tc_status status = tc_alloc(n, sizeof *list, "classes", &list);
    if (status != TC_OK)
        return status;
    if (classes->fixed != NULL) {
        memcpy(list, classes->fixed->classes, (size_t)n * sizeof *list);
    } else {
        for (int64_t c = 0; c < n; c++)
            memcpy(list[c].name, at(classes, c)->name, sizeof list[c].name);
        qsort(list, (size_t)n, sizeof *list, classes->numeric ? by_value : by_name);
    }
    for (int64_t c = 0; c < n; c++)
        list[c].count = 0;
    *list_p = list;
    *n_p = n;
    return TC_OK;
}

tc_status tc_classes_order(tc_classes *classes, const int32_t **map_p, int64_t *met_p,
                           tc_class **list_p, int64_t *n_p)
{
    tc_class *list = NULL;
    int64_t n = 0;

    if (classes->count == 0)
        return tc_fail(TC_FORMAT, "no class folder with pictures was found");
    for (int64_t c = 0; c < classes->count; c++) {
        const met_class *m = at(classes, c);
        if (m->met == 0 || (m->taken > 0 && m->kept == 0))
            return tc_fail(TC_FORMAT,
                           "class folder %s holds no%s pictures; remove it, or put some into it",
                           m->name, m->met > 0 ? " sound" : "");
    }
    tc_status status = list_classes(classes, &list, &n);
    if (status == TC_OK)
        status = tc_alloc(classes->count, sizeof *classes->map, "class map", &classes->map);
    for (int64_t c = 0; status == TC_OK && c < n; c++) {
        int32_t met = *place(classes, list[c].name);
        if (met != 0) /* a class of the fixed map may have no picture here */
            classes->map[met - 1] = (int32_t)c;
    }
    if (status != TC_OK) {
        tc_free(list);
        return status;
    }
    *map_p = classes->map;
    *met_p = classes->count;
    *list_p = list;
    *n_p = n;
    return TC_OK;
}

#include <config.h>

#include "train/safetensors.h"

#include "base/mem.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_MAX ((uint64_t)100 << 20) /* the reference implementation's limit */

static const struct {
    const char *name;
    size_t size;
} type_of[] = { { "F32", 4 }, { "F64", 8 }, { "I64", 8 } };

#if __BYTE_ORDER != __LITTLE_ENDIAN
#error "safetensors are little-endian; this code copies memory as it is"
#endif

static uint64_t tensor_bytes(const tc_tensor *tensor)
{
    uint64_t bytes = type_of[tensor->type].size;

    for (int i = 0; i < tensor->n_dims; i++)
        bytes *= (uint64_t)tensor->dims[i];
    return bytes;
}

/* "(64, 3, 7, 7)" */
static const char *shape_text(int n_dims, const int64_t *dims, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "(");

    for (int i = 0; i < n_dims && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "", (long long)dims[i]);
    if (n < size)
        snprintf(text + n, size - n, ")");
    return text;
}

/* The header object.  8-byte tensors come first, so that every tensor lies aligned in the file. */
static json_t *make_header(const char *metadata, const tc_tensor *tensor, int64_t n)
{
    json_t *header = json_object();
    uint64_t offset = 0;

    if (metadata != NULL &&
        json_object_set_new(header, "__metadata__", json_loads(metadata, 0, NULL)) != 0) {
        json_decref(header);
        return NULL;
    }
    for (int wide = 1; wide >= 0; wide--) {
        for (int64_t i = 0; i < n; i++) {
            uint64_t bytes = tensor_bytes(&tensor[i]);
            json_t *shape = json_array();
            if ((type_of[tensor[i].type].size == 8) != wide) {
                json_decref(shape);
                continue;
            }
            for (int d = 0; d < tensor[i].n_dims; d++)
                json_array_append_new(shape, json_integer(tensor[i].dims[d]));
            json_object_set_new(
                header, tensor[i].name,
                json_pack("{s:s, s:o, s:[I, I]}", "dtype", type_of[tensor[i].type].name, "shape",
                          shape, "data_offsets", (json_int_t)offset, (json_int_t)(offset + bytes)));
            offset += bytes;
        }
    }
    return header;
}

static tc_status write_file(FILE *file, const char *path, const char *header,
                            const tc_tensor *tensor, int64_t n)
{
    static const char spaces[8] = "        ";
    size_t length = strlen(header), pad = (8 - length % 8) % 8;
    uint64_t prefix = htole64(length + pad);
    bool ok = fwrite(&prefix, sizeof prefix, 1, file) == 1 &&
              fwrite(header, 1, length, file) == length && fwrite(spaces, 1, pad, file) == pad;

    for (int wide = 1; wide >= 0; wide--) {
        for (int64_t i = 0; ok && i < n; i++) {
            size_t bytes = tensor_bytes(&tensor[i]);
            if ((type_of[tensor[i].type].size == 8) == wide)
                ok = fwrite(tensor[i].data, 1, bytes, file) == bytes;
        }
    }
    if (!ok || fflush(file) != 0 || fsync(fileno(file)) != 0)
        return tc_fail(TC_IO, "%s: cannot write: %s", path, strerror(errno));
    return TC_OK;
}

tc_status tc_sync_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash == path ? strdup("/")
                : slash       ? strndup(path, (size_t)(slash - path))
                              : strdup(".");
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    tc_status status = TC_OK;

    if (fd < 0 || fsync(fd) != 0)
        status =
            tc_fail(TC_IO, "%s: cannot sync the folder: %s", dir ? dir : path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(dir);
    return status;
}

tc_status tc_safetensors_write(const char *path, const char *metadata, const tc_tensor *tensor,
                               int64_t n)
{
    char tmp[4096];
    json_t *header = make_header(metadata, tensor, n);
    FILE *file = NULL;
    tc_status status = TC_OK;

    if (header == NULL)
        return tc_fail(TC_INVAL, "%s: the metadata is not JSON", path);
    char *text = json_dumps(header, JSON_COMPACT);
    json_decref(header);
    if (text == NULL)
        return tc_fail(TC_NOMEM, "%s: no header could be made", path);
    if (snprintf(tmp, sizeof tmp, "%s.tmp", path) >= (int)sizeof tmp)
        status = tc_fail(TC_INVAL, "%s: the name is too long", path);
    if (status == TC_OK && (file = fopen(tmp, "we")) == NULL)
        status = tc_fail(TC_IO, "%s: cannot create: %s", tmp, strerror(errno));
    if (status == TC_OK)
        status = write_file(file, tmp, text, tensor, n);
    if (file != NULL && fclose(file) != 0 && status == TC_OK)
        status = tc_fail(TC_IO, "%s: cannot write: %s", tmp, strerror(errno));
    if (status == TC_OK && rename(tmp, path) != 0)
        status = tc_fail(TC_IO, "%s: cannot rename to %s: %s", tmp, path, strerror(errno));
    if (status == TC_OK)
        status = tc_sync_parent(path);
    else if (file != NULL)
        unlink(tmp);
    free(text);
    return status;
}

/* An opened file while it is read. */
typedef struct {
    const char *path;
    FILE *file;
    json_t *header;
    uint64_t data;  /* offset of the data in the file */
    uint64_t bytes; /* of the data */
} reader;

static tc_status open_header(reader *in)
{
    struct stat st;
    uint64_t length = 0;
    json_error_t error;

    in->file = fopen(in->path, "re");
    if (in->file == NULL || fstat(fileno(in->file), &st) != 0)
        return tc_fail(TC_IO, "%s: cannot open: %s", in->path, strerror(errno));
    if (st.st_size < 8 || fread(&length, sizeof length, 1, in->file) != 1)
        return tc_fail(TC_FORMAT, "%s: %lld bytes are too few for a safetensors file", in->path,
                       (long long)st.st_size);
    length = le64toh(length);
    if (length > HEADER_MAX || length > (uint64_t)st.st_size - 8)
        return tc_fail(TC_FORMAT,
                       "%s: not a safetensors file, or truncated: a header of %llu bytes in "
                       "a file of %lld",
                       in->path, (unsigned long long)length, (long long)st.st_size);
    char *text = NULL;
    tc_status status = tc_alloc((int64_t)length + 1, 1, "safetensors header", &text);
    if (status != TC_OK)
        return status;
    if (fread(text, 1, length, in->file) != length)
        status = tc_fail(TC_IO, "%s: cannot read the header", in->path);
    else if ((in->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error)) == NULL ||
             !json_is_object(in->header))
        status = tc_fail(TC_FORMAT, "%s: the header is not JSON: %s", in->path,
                         in->header ? "not an object" : error.text);
    tc_free(text);
    in->data = 8 + length;
    in->bytes = (uint64_t)st.st_size - in->data;
    return status;
}

typedef struct {
    uint64_t begin, end;
} range;

static int by_begin(const void *a, const void *b)
{
    const range *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* The tensors must tile the data exactly: no hole, no overlap, nothing outside, nothing missing. */
static tc_status check_ranges(const reader *in)
{
    range *r = NULL;
    int64_t n = 0;
    uint64_t at = 0;
    const char *name;
    json_t *entry;
    tc_status status =
        tc_alloc((int64_t)json_object_size(in->header) + 1, sizeof *r, "safetensors ranges", &r);

    if (status != TC_OK)
        return status;
    json_object_foreach(in->header, name, entry)
    {
        json_int_t begin, end;
        if (strcmp(name, "__metadata__") == 0)
            continue;
        if (json_unpack(entry, "{s:[I, I]}", "data_offsets", &begin, &end) != 0 || begin < 0 ||
            end < begin) {
            status = tc_fail(TC_FORMAT, "%s: tensor %s has no valid data_offsets", in->path, name);
            break;
        }
        if ((uint64_t)end > in->bytes) {
            status = tc_fail(TC_FORMAT, "%s: truncated: tensor %s ends at byte %lld of %llu",
                             in->path, name, (long long)end, (unsigned long long)in->bytes);
            break;
        }
        r[n++] = (range){ (uint64_t)begin, (uint64_t)end };
    }
    if (status == TC_OK) {
        qsort(r, (size_t)n, sizeof *r, by_begin);
        bool tiled = true;
        for (int64_t i = 0; i < n; at = r[i++].end)
            tiled = tiled && r[i].begin == at;
        if (!tiled || at != in->bytes)
            status = tc_fail(TC_FORMAT, "%s: the tensors do not fill the file exactly", in->path);
    }
    tc_free(r);
    return status;
}

/* Every tensor of the file must be asked for. */
static tc_status check_known(const reader *in, const tc_tensor *tensor, int64_t n)
{
    json_t *known = json_object();
    const char *name;
    json_t *entry;
    tc_status status = TC_OK;

    for (int64_t i = 0; i < n; i++)
        json_object_set_new(known, tensor[i].name, json_true());
    json_object_foreach(in->header, name, entry) if (strcmp(name, "__metadata__") != 0 &&
                                                     json_object_get(known, name) == NULL)
    {
        status = tc_fail(TC_FORMAT, "%s: tensor %s has no place in this model", in->path, name);
        break;
    }
    json_decref(known);
    return status;
}

static tc_status check_shape(const reader *in, const tc_tensor *tensor, const char *dtype,
                             json_t *shape)
{
    int64_t dims[8];
    size_t n = json_array_size(shape);
    char theirs[128], ours[128];
    bool same = n == (size_t)tensor->n_dims;

    for (size_t i = 0; i < n && i < 8; i++) {
        dims[i] = json_integer_value(json_array_get(shape, i));
        same = same && dims[i] == tensor->dims[i];
    }
    if (!same)
        return tc_fail(TC_FORMAT, "%s: tensor %s has shape %s, this model needs %s", in->path,
                       tensor->name, shape_text(n < 8 ? (int)n : 8, dims, theirs, sizeof theirs),
                       shape_text(tensor->n_dims, tensor->dims, ours, sizeof ours));
    if (strcmp(dtype, type_of[tensor->type].name) != 0)
        return tc_fail(TC_FORMAT, "%s: tensor %s is of type %s, %s is needed", in->path,
                       tensor->name, dtype, type_of[tensor->type].name);
    return TC_OK;
}

static tc_status read_tensor(const reader *in, const tc_tensor *tensor)
{
    const char *dtype = NULL;
    json_t *shape = NULL, *entry = json_object_get(in->header, tensor->name);
    json_int_t begin = 0, end = 0;
    uint64_t bytes = tensor_bytes(tensor);

    if (entry == NULL)
        return tensor->optional
                   ? TC_OK
                   : tc_fail(TC_FORMAT, "%s: tensor %s is missing", in->path, tensor->name);
    if (json_unpack(entry, "{s:s, s:o, s:[I, I]}", "dtype", &dtype, "shape", &shape, "data_offsets",
                    &begin, &end) != 0 ||
        !json_is_array(shape))
        return tc_fail(TC_FORMAT, "%s: the header's entry of tensor %s is malformed", in->path,
                       tensor->name);
    tc_status status = check_shape(in, tensor, dtype, shape);
    if (status != TC_OK)
        return status;
    if ((uint64_t)(end - begin) != bytes)
        return tc_fail(TC_FORMAT, "%s: tensor %s has %lld bytes, its shape needs %llu", in->path,
                       tensor->name, (long long)(end - begin), (unsigned long long)bytes);
    if (tensor->data == NULL)
        return TC_OK;
    if (fseeko(in->file, (off_t)(in->data + (uint64_t)begin), SEEK_SET) != 0 ||
        fread(tensor->data, 1, bytes, in->file) != bytes)
        return tc_fail(TC_IO, "%s: cannot read tensor %s", in->path, tensor->name);
    return TC_OK;
}

/* The metadata as JSON text in memory of tc_alloc(). */
static tc_status copy_metadata(const reader *in, char **metadata_p)
{
    json_t *metadata = json_object_get(in->header, "__metadata__");
    char *dump = metadata ? json_dumps(metadata, JSON_COMPACT) : NULL;
    const char *text = dump ? dump : "{}";
    tc_status status = tc_alloc((int64_t)strlen(text) + 1, 1, "metadata", metadata_p);

    if (status == TC_OK)
        strcpy(*metadata_p, text);
    free(dump);
    return status;
}

static void close_reader(reader *in)
{
    json_decref(in->header);
    if (in->file != NULL)
        fclose(in->file);
}

tc_status tc_safetensors_read(const char *path, const tc_tensor *tensor, int64_t n)
{
    reader in = { .path = path };
    tc_status status = open_header(&in);

    if (status == TC_OK)
        status = check_ranges(&in);
    if (status == TC_OK)
        status = check_known(&in, tensor, n);
    for (int64_t i = 0; status == TC_OK && i < n; i++)
        status = read_tensor(&in, &tensor[i]);
    close_reader(&in);
    return status;
}

tc_status tc_safetensors_shape(const char *path, const char *name, int n_dims, int64_t *dims)
{
    reader in = { .path = path };
    tc_status status = open_header(&in);

    if (status == TC_OK) {
        json_t *shape = json_object_get(json_object_get(in.header, name), "shape");
        for (int i = 0; json_array_size(shape) == (size_t)n_dims && i < n_dims; i++)
            dims[i] = json_integer_value(json_array_get(shape, (size_t)i));
    }
    close_reader(&in);
    return status;
}

tc_status tc_safetensors_metadata(const char *path, char **metadata_p)
{
    reader in = { .path = path };
    tc_status status = open_header(&in);

    if (status == TC_OK)
        status = copy_metadata(&in, metadata_p);
    close_reader(&in);
    return status;
}

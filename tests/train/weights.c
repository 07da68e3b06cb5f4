/* Print all parameters and momenta of checkpoint files as hexadecimal, without BN statistics. */
#include <config.h>

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_file(const char *path)
{
    FILE *file = fopen(path, "r");
    uint64_t length = 0;
    const char *name;
    json_t *entry;

    if (file == NULL || fread(&length, 8, 1, file) != 1 || length > 1 << 26)
        return 1;
    char *text = malloc(length);
    if (text == NULL || fread(text, 1, length, file) != length)
        return 1;
    json_t *header = json_loadb(text, length, 0, NULL);
    json_object_foreach(header, name, entry)
    {
        json_int_t begin, end;
        if (strstr(name, "running_") != NULL ||
            json_unpack(entry, "{s:[I, I]}", "data_offsets", &begin, &end) != 0)
            continue;
        printf("%s", name);
        fseeko(file, (off_t)(8 + length + (uint64_t)begin), SEEK_SET);
        for (json_int_t at = begin; at < end; at += 4) {
            uint32_t word;
            if (fread(&word, 4, 1, file) != 1)
                return 1;
            printf(" %08" PRIx32, word);
        }
        printf("\n");
    }
    json_decref(header);
    free(text);
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    int bad = argc < 2;

    for (int i = 1; i < argc; i++)
        bad |= print_file(argv[i]);
    return bad;
}

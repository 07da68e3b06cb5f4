/*
 * Hold two runs' dumps against each other.
 *
 * compare floats A B TOL   two files of f32: |a - b| / |b| <= TOL
 * compare losses A B TOL   lines "step loss": the same steps, each loss within TOL, relatively
 */
#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_or_die(const char *path)
{
    FILE *file = fopen(path, "r");

    if (file == NULL) {
        printf("compare: cannot open %s\n", path);
        exit(2);
    }
    return file;
}

static int floats(FILE *a, FILE *b, double tolerance)
{
    double diff = 0.0, norm = 0.0;
    long n = 0;
    float x, y;

    for (;; n++) {
        size_t got_a = fread(&x, sizeof x, 1, a), got_b = fread(&y, sizeof y, 1, b);
        if (got_a != got_b) {
            printf("lengths differ\n");
            return 1;
        }
        if (got_a == 0)
            break;
        diff += ((double)x - (double)y) * ((double)x - (double)y);
        norm += (double)y * (double)y;
    }
    printf("%ld floats, norm %g, relative difference %.3g\n", n, sqrt(norm), sqrt(diff / norm));
    return !(n > 0 && norm > 0.0 && sqrt(diff / norm) <= tolerance);
}

static int losses(FILE *a, FILE *b, double tolerance)
{
    double x, y, worst = 0.0;
    long i, j, n = 0;
    int got;

    while ((got = fscanf(a, "%ld %lf", &i, &x)) == 2 && fscanf(b, "%ld %lf", &j, &y) == 2 &&
           i == j) {
        double error = fabs(x - y) / fabs(y);
        worst = error > worst || !isfinite(error) ? error : worst;
        n++;
    }
    if (got == 2 || fscanf(b, "%ld", &j) == 1) {
        printf("the steps differ after %ld lines\n", n);
        return 1;
    }
    printf("%ld losses, last %g, worst relative difference %.3g\n", n, x, worst);
    return !(n > 0 && worst <= tolerance);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    FILE *a = open_or_die(argv[2]), *b = open_or_die(argv[3]);
    double tolerance = strtod(argv[4], NULL);
    int rc = strcmp(argv[1], "floats") == 0 ? floats(a, b, tolerance) : losses(a, b, tolerance);
    fclose(a);
    fclose(b);
    return rc;
}

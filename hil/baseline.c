/* A bare fixed-rate loop: how late clock_nanosleep wakes at absolute deadlines, with nothing else to do.
 *
 *     baseline RATE_HZ SECONDS [TIMER_SLACK_NS]
 *
 * Prints one line "count min mean p50 p99 max" and then one line of counts by factors of two: 0, 1, 2-3, 4-7, ...
 * All times are in nanoseconds.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define OCTAVES 51

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_until_ns(long long deadline)
{
    struct timespec t = {deadline / 1000000000LL, deadline % 1000000000LL};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {
    }
}

static int by_size(const void *a, const void *b)
{
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static void loop(long long *late, long count, double rate_hz)
{
    long long start = now_ns() + 1000000;
    for (long k = 0; k < count; k++) {
        long long deadline = start + (long long)(k * 1e9 / rate_hz + 0.5);
        sleep_until_ns(deadline);
        late[k] = now_ns() - deadline;
    }
}

static long long percentile(const long long *sorted, long count, int percent)
{
    long rank = (count * percent + 99) / 100;
    return sorted[rank > 0 ? rank - 1 : 0];
}

static void print_octaves(const long long *sorted, long count)
{
    long counts[OCTAVES] = {0};
    for (long k = 0; k < count; k++) {
        int bits = 0;
        while (bits < OCTAVES - 1 && sorted[k] >> bits)
            bits++;
        counts[bits]++;
    }
    for (int i = 0; i < OCTAVES; i++)
        printf("%ld%c", counts[i], i < OCTAVES - 1 ? ' ' : '\n');
}

int main(int argc, char **argv)
{
    if (argc < 3 || atof(argv[1]) <= 0 || atof(argv[1]) * atof(argv[2]) < 1)
        return 2;
    if (argc > 3 && prctl(PR_SET_TIMERSLACK, strtoul(argv[3], NULL, 10), 0, 0, 0) != 0)
        return 3;
    double rate_hz = atof(argv[1]), sum = 0;
    long count = (long)(rate_hz * atof(argv[2]));
    long long *late = calloc((size_t)count, sizeof *late);
    if (late == NULL)
        return 4;
    for (long k = 0; k < count; k++)
        late[k] = -1; /* touch every page before the loop */
    loop(late, count, rate_hz);
    for (long k = 0; k < count; k++)
        sum += (double)late[k];
    qsort(late, (size_t)count, sizeof *late, by_size);
    printf("%ld %lld %.1f %lld %lld %lld\n", count, late[0], sum / (double)count, percentile(late, count, 50),
           percentile(late, count, 99), late[count - 1]);
    print_octaves(late, count);
    free(late);
    return 0;
}

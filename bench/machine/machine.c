/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the reading of Linux's counters: /proc/stat for what each CPU did, the CPU clocks of the
 * watched processes for what was theirs, and /proc/PID/task/TID/schedstat for how long their
 * threads waited for a CPU. Must not judge what it reads.
 */
#include "bench/machine/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WATCHED_MAX 2
#define THREADS_MAX 1024 /* of a process; the waiting of further ones is not counted */
#define STAT_BYTES  4096
#define NS_PER_S    1000000000u

struct thread {
	pid_t tid;
	uint64_t waited_ns; /* in its life */
};

struct watched {
	pid_t pid;
	clockid_t clock;
	uint64_t used_ns;		    /* when it was last read */
	struct thread threads[THREADS_MAX]; /* as last seen, by tid */
	size_t thread_count;
};

struct machine {
	struct watched watched[WATCHED_MAX];
	size_t watched_count;
	cpu_set_t cpus;
	uint64_t at_ns, busy_ns, stolen_ns;
	bool is_told; /* the last reading found all it looked for */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	if (clock_gettime(clock, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* "on a CPU, ns; waited for one, ns; times it got one". All zero: the kernel does not count. */
static bool read_waited(int folder, const char *tid, uint64_t *waited_ns)
{
	char path[300], text[96];
	uint64_t ran_ns, times;
	snprintf(path, sizeof path, "%s/schedstat", tid);
	int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	ssize_t length = read(file, text, sizeof text - 1);
	close(file);
	if (length <= 0)
		return false;
	text[length] = '\0';
	return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ran_ns, waited_ns, &times) == 3 &&
	       (ran_ns || *waited_ns || times);
}

static int by_tid(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* A number is used again for a new thread, which has waited less than the old one. */
static uint64_t waited_since(const struct watched *watched, const struct thread *now)
{
	const struct thread *before = bsearch(
		now, watched->threads, watched->thread_count, sizeof *watched->threads, by_tid);
	return before && before->waited_ns <= now->waited_ns ? now->waited_ns - before->waited_ns
							     : now->waited_ns;
}

/* Sums over the threads there are: what one waited after it was last seen goes with it. */
static bool sum_waited(struct watched *watched, uint64_t *waited_ns)
{
	char path[32];
	struct thread threads[THREADS_MAX];
	size_t count = 0;
	snprintf(path, sizeof path, "/proc/%d/task", (int)watched->pid);
	DIR *tasks = opendir(path);
	if (!tasks)
		return false;
	const struct dirent *entry;
	while ((entry = readdir(tasks)) && count < THREADS_MAX) {
		struct thread *thread = &threads[count];
		*thread = (struct thread){ .tid = (pid_t)strtol(entry->d_name, NULL, 10) };
		if (thread->tid <= 0 ||
			!read_waited(dirfd(tasks), entry->d_name, &thread->waited_ns))
			continue;
		*waited_ns += waited_since(watched, thread);
		count++;
	}
	closedir(tasks);
	qsort(threads, count, sizeof *threads, by_tid);
	memcpy(watched->threads, threads, count * sizeof *threads);
	watched->thread_count = count;
	return count > 0;
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

/* One line "cpuN user nice system idle iowait irq softirq steal …", in ticks. */
static void add_cpu(struct machine *machine, const char *line, uint64_t *busy, uint64_t *stolen)
{
	unsigned cpu;
	uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
	if (sscanf(line,
		    "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		    " %" SCNu64 " %" SCNu64,
		    &cpu, &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 9 ||
		cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &machine->cpus))
		return;
	*busy += user + nice + system + irq + softirq;
	*stolen += steal;
}

static bool sum_cpus(struct machine *machine, uint64_t *busy_ns, uint64_t *stolen_ns)
{
	char line[STAT_BYTES];
	uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK), busy = 0, stolen = 0;
	FILE *file = fopen("/proc/stat", "re");
	while (file && fgets(line, sizeof line, file) && strncmp(line, "cpu", 3) == 0)
		add_cpu(machine, line, &busy, &stolen);
	if (file)
		fclose(file);
	*busy_ns = busy * tick_ns;
	*stolen_ns = stolen * tick_ns;
	return busy > 0;
}

/* ---- Both ------------------------------------------------------------------------------------ */

static double cpus_of(uint64_t now_ns, uint64_t before_ns, double length_ns)
{
	return now_ns > before_ns ? (double)(now_ns - before_ns) / length_ns : 0;
}

void machine_read(struct machine *machine, struct machine_second *second)
{
	uint64_t busy_ns = 0, stolen_ns = 0, used_ns = 0, waited_ns = 0;
	*second = (struct machine_second){ 0 };
	if (!machine)
		return;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	bool known = sum_cpus(machine, &busy_ns, &stolen_ns);
	for (size_t i = 0; i < machine->watched_count; i++) {
		struct watched *watched = &machine->watched[i];
		uint64_t before_ns = watched->used_ns;
		watched->used_ns = clock_ns(watched->clock);
		used_ns += watched->used_ns > before_ns ? watched->used_ns - before_ns : 0;
		known = sum_waited(watched, &waited_ns) && known;
	}
	double length_ns = (double)(now_ns - machine->at_ns), own = (double)used_ns / length_ns;
	double busy = cpus_of(busy_ns, machine->busy_ns, length_ns);
	if (known && now_ns > machine->at_ns)
		*second = (struct machine_second){ .known = true,
			.cpus = CPU_COUNT(&machine->cpus),
			.own = own,
			.others = busy > own ? busy - own : 0,
			.stolen = cpus_of(stolen_ns, machine->stolen_ns, length_ns),
			.waited = (double)waited_ns / length_ns };
	machine->is_told = known;
	machine->at_ns = now_ns;
	machine->busy_ns = busy_ns;
	machine->stolen_ns = stolen_ns;
}

static void watch(struct machine *machine, pid_t pid)
{
	struct watched *watched = &machine->watched[machine->watched_count];
	*watched = (struct watched){ .pid = pid };
	if (clock_getcpuclockid(pid, &watched->clock) == 0)
		machine->watched_count++;
}

/* Once in the life of this process. */
static void say_unknown(void)
{
	static bool said;
	if (!said)
		fputs("cancel-bench: this kernel does not say how long threads wait for a CPU; a "
		      "disturbance shows only in the generator's lag\n",
			stderr);
	said = true;
}

struct machine *machine_open(pid_t server)
{
	struct machine_second none;
	struct machine *machine = calloc(1, sizeof *machine);
	if (!machine)
		return NULL;
	sched_getaffinity(0, sizeof machine->cpus, &machine->cpus);
	watch(machine, getpid());
	machine_read(machine, &none);
	if (!machine->is_told)
		say_unknown();
	if (server > 0)
		watch(machine, server);
	machine_read(machine, &none);
	return machine;
}

void machine_close(struct machine *machine)
{
	free(machine);
}

/* A plugin of qemu-user that counts how often each block of instructions runs, and writes
 * a line for each to the file $INSTRUCTIONS_OUT.PID at the end: address, instructions,
 * count. The declarations are those of version 1 of the interface (QEMU 4.2 to 8.2), which
 * the packages of distributions do not bring. Counts are exact for one running thread. */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t,
                                                  void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, enum qemu_plugin_op, void *, uint64_t);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);

int qemu_plugin_version = 1;

struct block {
	uint64_t address, instructions, count;
	struct block *next;
};

#define BUCKETS 65536
static struct block *blocks[BUCKETS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
	uint64_t address = qemu_plugin_tb_vaddr(tb), n = qemu_plugin_tb_n_insns(tb);
	struct block **bucket = &blocks[(address >> 2 ^ address >> 17) % BUCKETS], *b;
	pthread_mutex_lock(&mutex);
	for (b = *bucket; b && (b->address != address || b->instructions != n); b = b->next)
		;
	if (!b) {
		b = calloc(1, sizeof *b);
		if (!b)
			abort();
		b->address = address, b->instructions = n, b->next = *bucket;
		*bucket = b;
	}
	pthread_mutex_unlock(&mutex);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &b->count, 1);
}

static void ended(qemu_plugin_id_t id, void *unused) {
	char name[4096];
	snprintf(name, sizeof name, "%s.%d", getenv("INSTRUCTIONS_OUT"), (int)getpid());
	FILE *out = fopen(name, "w");
	if (!out)
		abort();
	for (int i = 0; i < BUCKETS; i++)
		for (struct block *b = blocks[i]; b; b = b->next)
			fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", b->address, b->instructions, b->count);
	fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
	if (!getenv("INSTRUCTIONS_OUT"))
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}

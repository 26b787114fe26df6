/* SPDX-License-Identifier: MIT */
/* Rows of system calls, and calls as strace(1) writes them. */
#include "syscalls/syscall_text.h"

#include <string.h>

#include "lib/array_size.h"
#include "syscalls/syscall_names.h"
#include "tests/unit/unit.h"

static struct syscall_known call(uint64_t nr, uint64_t result, const uint64_t *args)
{
	struct syscall_known c = {.nr = nr, .has_args = true, .has_result = true, .result = result};

	memcpy(c.args, args, sizeof c.args);
	return c;
}

#define CALL(nr, result, ...) \
	call(nr, (uint64_t)(result), (const uint64_t[SYSCALL_ARGS]){__VA_ARGS__})

static void point(struct syscall_known *c, unsigned i, const void *bytes, size_t n, bool is_cut)
{
	c->pointed[i].is_known = true;
	c->pointed[i].is_cut = is_cut;
	c->pointed[i].bytes = slice_of(bytes, n);
}

static void expect(const struct syscall_known *c, const char *wanted)
{
	struct buf text = {0};

	syscall_put_call(&text, c);
	syscall_put_result(&text, c);
	buf_u8(&text, 0);
	assert_string_equal((const char *)text.data, wanted);
	buf_release(&text);
}

static void a_file_that_is_not_there(void **state)
{
	struct syscall_known c = CALL(SYSCALL_NR_openat, -2, 0xffffff9c, 0x1000, 0, 0666);

	(void)state;
	expect(&c, "openat(AT_FDCWD, 0x1000, O_RDONLY) = -1 ENOENT (No such file or directory)");
	point(&c, 1, "/etc/foo.conf", 13, false);
	expect(&c, "openat(AT_FDCWD, \"/etc/foo.conf\", O_RDONLY) = -1 ENOENT (No such file or "
		   "directory)");
	assert_true(syscall_has_failed(&c));
	point(&c, 1, "a\"b\\", 4, true);
	c.args[2] = 02101;
	c.result = 3;
	expect(&c, "openat(AT_FDCWD, \"a\\\"b\\\\\"..., O_WRONLY|O_CREAT|O_APPEND, 0666) = 3");
	assert_false(syscall_has_failed(&c));
}

static void flags_are_named(void **state)
{
	static const struct {
		uint64_t nr;
		unsigned arg;
		uint64_t value;
		const char *text;
	} rows[] = {
		{SYSCALL_NR_open, 1, 04010001, "O_WRONLY|O_SYNC"},
		{SYSCALL_NR_open, 1, 020200002, "O_RDWR|O_TMPFILE"},
		{SYSCALL_NR_open, 1, 0x80000000, "O_RDONLY|0x80000000"},
		{SYSCALL_NR_mmap, 2, 0, "PROT_NONE"},
		{SYSCALL_NR_mmap, 2, 5, "PROT_READ|PROT_EXEC"},
		{SYSCALL_NR_mmap, 3, 0x22, "MAP_PRIVATE|MAP_ANONYMOUS"},
		{SYSCALL_NR_mmap, 4, 0xffffffff, "-1"},
		{SYSCALL_NR_access, 1, 0, "F_OK"},
		{SYSCALL_NR_access, 1, 4, "R_OK"},
		{SYSCALL_NR_socket, 1, 0x80002, "SOCK_DGRAM|SOCK_CLOEXEC"},
		{SYSCALL_NR_futex, 1, 0x80, "FUTEX_WAIT|FUTEX_PRIVATE_FLAG"},
		{SYSCALL_NR_kill, 1, 11, "SIGSEGV"},
		{SYSCALL_NR_kill, 1, 40, "40"},
		{SYSCALL_NR_fcntl, 1, 3, "F_GETFL"},
		{SYSCALL_NR_fcntl, 1, 77, "0x4d"},
		{SYSCALL_NR_lseek, 1, UINT64_MAX, "-1"},
		{SYSCALL_NR_mkdir, 1, 0755, "0755"},
		{SYSCALL_NR_clone, 0, 0x1200011, "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD"},
		{SYSCALL_NR_unlinkat, 2, 0x200, "AT_REMOVEDIR"},
		{SYSCALL_NR_ioctl, 1, 0x5401, "TCGETS"},
		{999, 5, 0x1234, "0x1234"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct syscall_known c = {.nr = rows[i].nr, .has_args = true};
		struct buf text = {0};

		c.args[rows[i].arg] = rows[i].value;
		syscall_put_arg(&text, &c, rows[i].arg);
		buf_u8(&text, 0);
		assert_string_equal((const char *)text.data, rows[i].text);
		buf_release(&text);
	}
}

static void addresses_of_sockets(void **state)
{
	static const uint8_t inet[16] = {2, 0, 0x1f, 0x90, 127, 0, 0, 1},
			     inet6[28] = {10, 0, 0, 80, [23] = 1}, local[] = "\1\0/run/x.sock",
			     abstract[] = {1, 0, 0, 'b', 'u', 's'}, netlink[12] = {16, 0};
	struct syscall_known c = CALL(SYSCALL_NR_connect, -111, 3, 0x1000, 16);

	(void)state;
	point(&c, 1, inet, sizeof inet, false);
	expect(&c, "connect(3, {AF_INET, 127.0.0.1:8080}, 16) = -1 ECONNREFUSED (Connection "
		   "refused)");
	c.result = 0;
	point(&c, 1, inet6, sizeof inet6, false);
	expect(&c, "connect(3, {AF_INET6, [0:0:0:0:0:0:0:1]:80}, 16) = 0");
	point(&c, 1, local, sizeof local, false);
	expect(&c, "connect(3, {AF_UNIX, \"/run/x.sock\"}, 16) = 0");
	point(&c, 1, abstract, sizeof abstract, false);
	expect(&c, "connect(3, {AF_UNIX, @\"bus\"}, 16) = 0");
	point(&c, 1, netlink, sizeof netlink, false);
	expect(&c, "connect(3, {AF_NETLINK, 12 bytes}, 16) = 0");
	for (size_t n = 0; n < sizeof inet; n++) { /* cut short anywhere */
		struct buf text = {0};

		point(&c, 1, inet, n, false);
		syscall_put_call(&text, &c);
		buf_release(&text);
	}
}

static void results(void **state)
{
	struct syscall_known c = CALL(SYSCALL_NR_read, -512, 3, 0, 1);

	(void)state;
	expect(&c, "read(3, NULL, 1) = ? (a signal came; the kernel makes it again)");
	assert_false(syscall_has_failed(&c));
	c.result = (uint64_t)-4000;
	expect(&c, "read(3, NULL, 1) = -1 errno 4000");
	c.result = (uint64_t)-4096; /* no error: an address of the upper half */
	expect(&c, "read(3, NULL, 1) = -4096");
	c.has_args = false;
	c.has_result = false;
	expect(&c, "read(...) = ?");
	c = CALL(SYSCALL_NR_brk, 0x5555000, 0);
	expect(&c, "brk(NULL) = 0x5555000");
	c = CALL(SYSCALL_NR_exit_group, 0, 1);
	expect(&c, "exit_group(1) = ?");
	c = CALL(SYSCALL_NR_getpid, 7);
	c.has_args = false;
	expect(&c, "getpid() = 7");
	c = CALL(4, -2, 1, 2, 3);
	c.compat = true;
	expect(&c, "32-bit system call 4(...) = -1 ENOENT (No such file or directory)");
}

/* Every call that takes a path says so: its manual page has it as a const char *. */
static void memory_that_belongs_to_a_call(void **state)
{
	const uint64_t args[SYSCALL_ARGS] = {1, 2, 16, 4, 5, 6}, none[SYSCALL_ARGS] = {0};
	bool is_text;

	(void)state;
	assert_int_equal(syscall_pointed_size(syscall_shape(SYSCALL_NR_openat), 1, args, &is_text),
			 SYSCALL_POINTED_MAX);
	assert_true(is_text);
	assert_int_equal(syscall_pointed_size(syscall_shape(SYSCALL_NR_openat), 1, none, &is_text),
			 0);
	assert_int_equal(syscall_pointed_size(syscall_shape(SYSCALL_NR_openat), 0, args, &is_text),
			 0);
	assert_int_equal(syscall_pointed_size(syscall_shape(SYSCALL_NR_connect), 1, args, &is_text),
			 16);
	assert_false(is_text);
	assert_int_equal(syscall_pointed_size(syscall_shape(SYSCALL_NR_sendto), 4,
					      (const uint64_t[]){1, 2, 3, 4, 5, 1u << 20},
					      &is_text),
			 SYSCALL_ADDRESS_MAX);
	assert_int_equal(syscall_arg_count(syscall_shape(SYSCALL_NR_rename)), 2);
	assert_int_equal(syscall_arg_count(syscall_shape(SYSCALL_NR_getpid)), 0);
	assert_int_equal(syscall_arg_count(syscall_shape(UINT64_MAX)), SYSCALL_ARGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_not_there),      cmocka_unit_test(flags_are_named),
		cmocka_unit_test(addresses_of_sockets),          cmocka_unit_test(results),
		cmocka_unit_test(memory_that_belongs_to_a_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

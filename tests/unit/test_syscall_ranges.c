/* SPDX-License-Identifier: MIT */
/* What the kernel writes for a call: each kind of size, calls that fail, numbers of an attacker. */
#include "syscalls/syscall_ranges.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/btrfs.h>
#include <linux/capability.h>
#include <linux/cdrom.h>
#include <linux/fb.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/hdreg.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <linux/if.h>
#include <linux/if_vlan.h>
#include <linux/input.h>
#include <linux/kd.h>
#include <linux/loop.h>
#include <linux/quota.h>
#include <linux/rtc.h>
#include <linux/usbdevice_fs.h>
#include <linux/videodev2.h>
#include <linux/vt.h>
#include <mqueue.h>
#include <scsi/sg.h>
#include <signal.h>
#include <sound/asound.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "lib/array_size.h"
#include "syscalls/sized_requests.h"
#include "syscalls/syscall_names.h"
#include "tests/unit/unit.h"

enum {
	BASE = 0x10000, /* where the memory of the pretended process begins */
	MEMORY = 4096,
};

struct fake {
	uint8_t bytes[MEMORY];
	unsigned reads;
};

static size_t read_fake(void *arg, uint64_t at, void *bytes, size_t n)
{
	struct fake *f = arg;

	f->reads++;
	if (at < BASE || at >= BASE + MEMORY)
		return 0;
	if (n > BASE + MEMORY - at)
		n = BASE + MEMORY - at;
	memcpy(bytes, f->bytes + (at - BASE), n);
	return n;
}

static struct fake fake;
static struct syscall_range room[SYSCALL_RANGES_ENOUGH];
static struct syscall_ranges found;
static const struct syscall_memory memory = {read_fake, &fake};

static void put(uint64_t at, const void *bytes, size_t n)
{
	memcpy(fake.bytes + (at - BASE), bytes, n);
}

static void put_u32(uint64_t at, uint32_t value) { put(at, &value, sizeof value); }

static void enter(uint64_t nr, const uint64_t args[SYSCALL_ARGS])
{
	found = (struct syscall_ranges){.room = ARRAY_SIZE(room), .ranges = room};
	syscall_ranges_enter(nr, args, &memory, &found);
}

#define ENTER(name, ...) enter(SYSCALL_NR_##name, (const uint64_t[SYSCALL_ARGS]){__VA_ARGS__})
#define EXIT(result)     syscall_ranges_exit((uint64_t)(result), &memory, &found)

/* "10000+5 10020+4*": start, length, and a star if it is partial. */
static void expect(const char *wanted)
{
	char text[1024] = "";
	size_t n = 0;

	for (size_t i = 0; i < found.count && n < sizeof text; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRIx64 "+%" PRIu64 "%s",
				      i ? " " : "", room[i].start, room[i].length,
				      room[i].is_partial ? "*" : "");
	assert_string_equal(text, wanted);
}

static void every_call_has_a_row(void **state)
{
	static const uint16_t numbers[] = {
#define BT_SYSCALL(number, id) number,
#include "syscalls/syscall_names.def"
#undef BT_SYSCALL
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		assert_non_null(syscall_facts(numbers[i]));
	assert_int_equal(SYSCALL_NR_file_setattr, 469);
	assert_null(syscall_facts(470));
	assert_null(syscall_facts(400));
	assert_null(syscall_facts(UINT64_MAX));
}

static void structures_have_the_size_that_the_system_s_headers_say(void **state)
{
	enum {
#define BT_STRUCT(id, bytes, structure, header) SIZE_OF_##id = (bytes),
#include "syscalls/syscall_structs.def"
#undef BT_STRUCT
	};

	(void)state;
	assert_int_equal(SIZE_OF_STAT, sizeof(struct stat));
	assert_int_equal(SIZE_OF_STATX, sizeof(struct statx));
	assert_int_equal(SIZE_OF_STATFS, sizeof(struct statfs));
	assert_int_equal(SIZE_OF_TIMEX, sizeof(struct timex));
	assert_int_equal(SIZE_OF_TMS, sizeof(struct tms));
	assert_int_equal(SIZE_OF_SIGINFO, sizeof(siginfo_t));
	assert_int_equal(SIZE_OF_STACK, sizeof(stack_t));
	assert_int_equal(SIZE_OF_RUSAGE, sizeof(struct rusage));
	assert_int_equal(SIZE_OF_RLIMIT, sizeof(struct rlimit64));
	assert_int_equal(SIZE_OF_SYSINFO, sizeof(struct sysinfo));
	assert_int_equal(SIZE_OF_CAP_HEADER, sizeof(struct __user_cap_header_struct));
	assert_int_equal(SIZE_OF_CAP_DATA, 2 * sizeof(struct __user_cap_data_struct));
	assert_int_equal(SIZE_OF_FLOCK, sizeof(struct flock));
	assert_int_equal(SIZE_OF_MSQID, sizeof(struct msqid_ds));
	assert_int_equal(SIZE_OF_SHMID, sizeof(struct shmid_ds));
	assert_int_equal(SIZE_OF_SHMINFO, sizeof(struct shminfo));
	assert_int_equal(SIZE_OF_SHM_INFO, sizeof(struct shm_info));
	assert_int_equal(SIZE_OF_SEMID, sizeof(struct semid_ds));
	assert_int_equal(SIZE_OF_MQ_ATTR, sizeof(struct mq_attr));
	assert_int_equal(SIZE_OF_USER_REGS, sizeof(struct user_regs_struct));
	assert_int_equal(SIZE_OF_USER_FPREGS, sizeof(struct user_fpregs_struct));
	assert_int_equal(SIZE_OF_DQBLK, sizeof(struct if_dqblk));
	assert_int_equal(SIZE_OF_DQINFO, sizeof(struct if_dqinfo));
	assert_int_equal(SIZE_OF_IFREQ, sizeof(struct ifreq));
	assert_int_equal(SIZE_OF_IFCONF, sizeof(struct ifconf));
	assert_int_equal(SIZE_OF_GEOMETRY, sizeof(struct hd_geometry));
	assert_int_equal(SIZE_OF_LOOP_INFO, sizeof(struct loop_info));
	assert_int_equal(SIZE_OF_LOOP_INFO64, sizeof(struct loop_info64));
	assert_int_equal(SIZE_OF_FB_VAR, sizeof(struct fb_var_screeninfo));
	assert_int_equal(SIZE_OF_FB_FIX, sizeof(struct fb_fix_screeninfo));
	assert_int_equal(SIZE_OF_KEY_ENTRY, sizeof(struct kbentry));
	assert_int_equal(SIZE_OF_KEY_STRING, sizeof(struct kbsentry));
	assert_int_equal(SIZE_OF_DIACRITICS, sizeof(struct kbdiacrs));
	assert_int_equal(SIZE_OF_WIDE_DIACRITICS, sizeof(struct kbdiacrsuc));
	assert_int_equal(SIZE_OF_VT_EVENT, sizeof(struct vt_event));
	assert_int_equal(SIZE_OF_EFFECT, sizeof(struct ff_effect));
	assert_int_equal(SIZE_OF_SCSI_ID, sizeof(struct sg_scsi_id));
	assert_int_equal(SIZE_OF_SCSI_REQUESTS, sizeof(sg_req_info_t[SG_MAX_QUEUE]));
	assert_int_equal(SIZE_OF_SCSI_COMMAND, sizeof(struct sg_io_hdr));
	assert_int_equal(SIZE_OF_TRACK_ENTRY, sizeof(struct cdrom_tocentry));
	assert_int_equal(SIZE_OF_SUBCHANNEL, sizeof(struct cdrom_subchnl));
	assert_int_equal(SIZE_OF_SECTOR, sizeof(char[CD_FRAMESIZE]));
	assert_int_equal(SIZE_OF_SECTOR_RAW0, sizeof(char[CD_FRAMESIZE_RAW0]));
	assert_int_equal(SIZE_OF_SECTOR_RAW, sizeof(char[CD_FRAMESIZE_RAW]));
	assert_int_equal(SIZE_OF_SECTOR_ALL, sizeof(char[CD_FRAMESIZE_RAWER]));
	assert_int_equal(SIZE_OF_DISC_NUMBER, sizeof(struct cdrom_mcn));
	assert_int_equal(SIZE_OF_DVD_STRUCT, sizeof(dvd_struct));
	assert_int_equal(SIZE_OF_DVD_AUTH, sizeof(dvd_authinfo));
	assert_int_equal(SIZE_OF_BTRFS_SUBVOLUME, sizeof(struct btrfs_ioctl_vol_args_v2));
	assert_int_equal(SIZE_OF_SOUND_TIMER, sizeof(struct snd_timer_params));
	assert_int_equal(SIZE_OF_USB_DRIVER, sizeof(struct usbdevfs_getdriver));
	assert_int_equal(SIZE_OF_VLAN, sizeof(struct vlan_ioctl_args));
	assert_int_equal(SIZE_OF_OLD_POLICY, sizeof(struct fscrypt_policy_v1));
	assert_int_equal(SIZE_OF_FSXATTR, sizeof(struct fsxattr));
	assert_int_equal(SIZE_OF_RTC_WAKE, sizeof(struct rtc_wkalrm));
	assert_int_equal(SIZE_OF_VT_STATE, sizeof(struct vt_stat));
	assert_int_equal(SIZE_OF_VT_MODE, sizeof(struct vt_mode));
}

static void a_fixed_size_is_written_when_the_call_succeeds(void **state)
{
	(void)state;
	ENTER(fstat, 3, BASE);
	EXIT(0);
	expect("10000+144");
	assert_int_equal(found.known, SYSCALL_RANGES_KNOWN);
	ENTER(fstat, 3, BASE);
	EXIT(-EBADF);
	expect("");
	ENTER(gettimeofday, BASE, 0);
	EXIT(0);
	expect("10000+16");
}

static void a_result_cuts_what_an_argument_allows(void **state)
{
	(void)state;
	ENTER(read, 0, BASE, 100);
	EXIT(7);
	expect("10000+7");
	ENTER(read, 0, BASE, 100);
	EXIT(0);
	expect("");
	ENTER(recvfrom, 0, BASE, 100, MSG_TRUNC, 0, 0); /* the result is the message's length */
	EXIT(5000);
	expect("10000+100");
	ENTER(getxattr, 1, 1, BASE, 0); /* asks for the length alone */
	EXIT(30);
	expect("");
	ENTER(epoll_wait, 3, BASE, 8, 0);
	EXIT(2);
	expect("10000+24");
}

static void an_argument_says_how_many(void **state)
{
	(void)state;
	ENTER(poll, BASE, 3, 0);
	EXIT(-EINTR); /* revents are written all the same */
	expect("10000+24*");
	ENTER(rt_sigprocmask, 0, 0, BASE, 8);
	EXIT(0);
	expect("10000+8");
	ENTER(mincore, 0, 4097, BASE);
	EXIT(0);
	expect("10000+2");
	ENTER(select, 65, BASE, 0, BASE + 32, BASE + 64);
	EXIT(-EBADF); /* the time that is left is */
	expect("10040+16*");
	ENTER(select, 65, BASE, 0, BASE + 32, BASE + 64);
	EXIT(1);
	expect("10000+16 10020+16 10040+16");
}

static void a_length_in_memory_is_the_least_of_before_and_after(void **state)
{
	(void)state;
	put_u32(BASE, 16);
	ENTER(getsockname, 3, BASE + 64, BASE);
	put_u32(BASE, 110); /* the name was longer */
	EXIT(0);
	expect("10000+4 10040+16");
	put_u32(BASE, 110);
	ENTER(getsockname, 3, BASE + 64, BASE);
	put_u32(BASE, 2);
	EXIT(0);
	expect("10000+4 10040+2");
}

static void a_length_that_the_output_covers_is_not_believed(void **state)
{
	(void)state;
	put_u32(BASE + 66, 16);
	ENTER(getsockname, 3, BASE + 64, BASE + 66);
	put_u32(BASE + 66, 1);
	EXIT(0);
	expect("10042+4 10040+16");
}

static void filters_of_a_socket_are_counted_in_instructions(void **state)
{
	(void)state;
	put_u32(BASE, 4);
	ENTER(getsockopt, 3, SOL_SOCKET, SO_GET_FILTER, BASE + 64, BASE);
	put_u32(BASE, 3);
	EXIT(0);
	expect("10000+4 10040+24");
}

/* MPTCP_FULL_INFO has addresses in its structure; MPTCP_INFO has none. */
static void options_of_sockets_that_write_elsewhere_are_unknown(void **state)
{
	enum { MPTCP = 284, INFO = 1, FULL_INFO = 4 };

	(void)state;
	put_u32(BASE, 4);
	ENTER(getsockopt, 3, MPTCP, FULL_INFO, BASE + 64, BASE);
	assert_int_equal(found.known, SYSCALL_RANGES_UNKNOWN);
	ENTER(getsockopt, 3, MPTCP, INFO, BASE + 64, BASE);
	assert_int_equal(found.known, SYSCALL_RANGES_KNOWN);
}

static void vectors_are_filled_in_order(void **state)
{
	const struct iovec v[] = {
		{(void *)0x20000, 10}, {(void *)0x30000, 0}, {(void *)0x40000, 10}};

	(void)state;
	put(BASE, v, sizeof v);
	ENTER(readv, 0, BASE, 3);
	EXIT(13);
	expect("20000+10 40000+3");
	ENTER(readv, 0, BASE, 3);
	EXIT(-EFAULT);
	expect("20000+10* 40000+10*");
	ENTER(readv, 0, BASE, 3);
	EXIT(-EAGAIN);
	expect("");
}

static void a_message_has_a_name_control_and_vectors(void **state)
{
	const struct iovec v = {(void *)0x20000, 100};
	struct msghdr m = {.msg_name = (void *)0x30000,
			   .msg_namelen = 200,
			   .msg_iov = (void *)(BASE + 512),
			   .msg_iovlen = 1,
			   .msg_control = (void *)0x40000,
			   .msg_controllen = 64};

	(void)state;
	put(BASE, &m, sizeof m);
	put(BASE + 512, &v, sizeof v);
	ENTER(recvmsg, 3, BASE, 0);
	m.msg_namelen = 16;
	m.msg_controllen = 24;
	put(BASE, &m, sizeof m);
	EXIT(9);
	expect("10008+4 10028+8 10030+4 30000+16 40000+24 20000+9");
	m.msg_controllen = 64;
	put(BASE, &m, sizeof m);
	ENTER(recvmsg, 3, BASE, 0);
	EXIT(-EAGAIN); /* a stream of AF_UNIX passes credentials all the same */
	expect("40000+64*");
}

static void attributes_that_had_room_are_written_though_others_had_none(void **state)
{
	const uint32_t given = 40, needed = 72;

	(void)state;
	put(BASE, &given, sizeof given);
	ENTER(lsm_get_self_attr, 100, 0x20000, BASE, 0);
	put(BASE, &needed, sizeof needed);
	EXIT(-E2BIG);
	expect("10000+4* 20000+40*");
}

static void of_many_messages_those_that_came_are_written(void **state)
{
	const struct iovec v = {(void *)0x20000, 100};
	const struct mmsghdr m[2] = {
		{.msg_hdr = {.msg_iov = (void *)(BASE + 512), .msg_iovlen = 1}},
		{.msg_hdr = {.msg_iov = (void *)(BASE + 512), .msg_iovlen = 1}}};

	(void)state;
	put(BASE, m, sizeof m);
	put(BASE + 512, &v, sizeof v);
	ENTER(recvmmsg, 3, BASE, 2, 0, 0);
	EXIT(1);
	expect("10008+4 10028+8 10030+4 10038+4 20000+100");
	ENTER(sendmmsg, 3, BASE, 2, 0);
	EXIT(1);
	expect("10038+4");
}

static void ancillary_data_of_the_first_message_that_does_not_come_is_written(void **state)
{
	const struct iovec v = {(void *)0x20000, 100};
	struct mmsghdr m[3];

	(void)state;
	for (size_t i = 0; i < 3; i++)
		m[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = (void *)(BASE + 512),
						    .msg_iovlen = 1,
						    .msg_control = (void *)(0x40000 + i * 0x1000),
						    .msg_controllen = 64}};
	put(BASE, m, sizeof m);
	put(BASE + 512, &v, sizeof v);
	ENTER(recvmmsg, 3, BASE, 3, 0, 0);
	m[0].msg_hdr.msg_controllen = 24;
	put(BASE, m, sizeof m);
	EXIT(1);
	expect("10008+4 10028+8 10030+4 40000+24 10038+4 20000+100 41000+64");
}

static void what_remains_of_a_sleep_is_written_when_it_was_broken_off(void **state)
{
	(void)state;
	ENTER(nanosleep, BASE, BASE + 16);
	EXIT(0);
	expect("");
	ENTER(nanosleep, BASE, BASE + 16);
	EXIT(-EINTR);
	expect("10010+16");
	ENTER(nanosleep, BASE, BASE + 16);
	EXIT(-516); /* ERESTART_RESTARTBLOCK */
	expect("10010+16");
	assert_int_equal(syscall_facts(SYSCALL_NR_nanosleep)->again, SYSCALL_AGAIN_BLOCK);
	assert_int_equal(syscall_facts(SYSCALL_NR_read)->again,
			 SYSCALL_AGAIN_SYS | SYSCALL_AGAIN_EINTR); /* of a socket with a timeout */
	assert_int_equal(syscall_facts(SYSCALL_NR_getpid)->again, 0);
}

static void each_block_that_is_submitted_gets_a_key(void **state)
{
	const uint64_t blocks[] = {0x20000, 0x30000, 0, 0x40000}; /* the third cannot be had */

	(void)state;
	put(BASE, blocks, sizeof blocks);
	ENTER(io_submit, 1, 2, BASE);
	EXIT(1);
	expect("20008+4 30008+4");
	ENTER(io_submit, 1, 4, BASE);
	EXIT(-EINVAL);
	expect("20008+4* 30008+4*");
	ENTER(io_submit, 1, UINT64_MAX, BASE + MEMORY - 8);
	assert_int_equal(found.known, SYSCALL_RANGES_UNKNOWN);
}

static void an_address_that_is_bad_may_have_a_part_before_it(void **state)
{
	(void)state;
	ENTER(getresuid, BASE, BASE + 4, 1);
	EXIT(-EFAULT);
	expect("10000+4* 10004+4* 1+4*");
}

static void operations_have_rows_of_their_own(void **state)
{
	(void)state;
	ENTER(fcntl, 3, 5, BASE);
	EXIT(0);
	expect("10000+32");
	ENTER(fcntl, 3, 3, BASE);
	EXIT(2);
	expect("");
	ENTER(futex, BASE, 0x80, 1, 0); /* FUTEX_WAIT | FUTEX_PRIVATE_FLAG */
	EXIT(0);
	expect("");
	ENTER(futex, BASE, 0x86, 0, 0);
	EXIT(0);
	expect("10000+4");
	ENTER(quotactl, 0x80000700, 0, 0, BASE); /* Q_GETQUOTA of users */
	EXIT(0);
	expect("10000+72");
	ENTER(prctl, 16, BASE);
	EXIT(0);
	expect("10000+16");
}

static void an_unknown_operation_is_unknown_unless_it_was_refused(void **state)
{
	(void)state;
	ENTER(fcntl, 3, 9999, BASE);
	EXIT(0);
	assert_int_equal(found.known, SYSCALL_RANGES_UNKNOWN);
	ENTER(ioctl, 3, 0x9999, BASE);
	EXIT(-ENOTTY);
	assert_int_equal(found.known, SYSCALL_RANGES_KNOWN);
	enter(1000, (const uint64_t[SYSCALL_ARGS]){BASE});
	EXIT(0);
	assert_int_equal(found.known, SYSCALL_RANGES_UNKNOWN);
}

static void requests_have_rows_or_a_size_in_their_number(void **state)
{
	(void)state;
	ENTER(ioctl, 3, TIOCGWINSZ, BASE);
	EXIT(0);
	expect("10000+8");
	ENTER(ioctl, 3, FS_IOC_GETFLAGS, BASE); /* its number says 8 */
	EXIT(0);
	expect("10000+4");
	assert_int_equal(found.known, SYSCALL_RANGES_KNOWN);
	ENTER(ioctl, 3, FIBMAP, BASE); /* 0 is written also by one that fails */
	EXIT(-ERANGE);
	expect("10000+4*");
	ENTER(ioctl, 3, EVIOCGVERSION, BASE); /* its number is believed */
	EXIT(0);
	expect("10000+4");
	assert_int_equal(found.known, SYSCALL_RANGES_KNOWN);
	ENTER(ioctl, 3, EVIOCGNAME(40), BASE); /* of any size */
	EXIT(40);
	expect("10000+40");
	ENTER(ioctl, 3, _IOC(_IOC_READ | _IOC_WRITE, 'E', 0x06, 40), BASE); /* another's */
	assert_int_equal(found.known, SYSCALL_RANGES_GUESSED);
	ENTER(ioctl, 3, EVIOCSREP, BASE);
	EXIT(0);
	expect("");
	assert_int_equal(found.known, SYSCALL_RANGES_KNOWN);
	ENTER(ioctl, 3, EVIOCSFF, BASE); /* its number says that nothing is written */
	EXIT(0);
	expect("10000+48");
	ENTER(ioctl, 3, _IOR('?', 1, char[24]), BASE);
	EXIT(0);
	expect("10000+24");
	assert_int_equal(found.known, SYSCALL_RANGES_GUESSED);
	ENTER(ioctl, 3, _IOW('?', 1, char[24]), BASE);
	EXIT(0);
	expect("");
	assert_int_equal(found.known, SYSCALL_RANGES_GUESSED);
}

/* What belongs to one lies elsewhere, or behind it. */
static void requests_say_where_and_how_much(void **state)
{
	const struct sg_io_hdr command = {.interface_id = 'S',
					  .mx_sb_len = 18,
					  .dxfer_len = 512,
					  .dxferp = (void *)0x20000,
					  .sbp = (void *)0x30000};
	struct sg_io_hdr other = command;
	const struct iovec vectors[] = {{(void *)0x40000, 100}, {(void *)0x50000, 8}};
	const struct i2c_msg messages[] = {{.flags = I2C_M_RD, .len = 7, .buf = (void *)0x60000},
					   {.len = 9, .buf = (void *)0x70000}};
	const struct i2c_rdwr_ioctl_data bus = {(void *)(BASE + 64), 2};
	const struct input_mask mask = {.codes_size = 24, .codes_ptr = 0x80000};
	const struct fb_cmap colours = {.len = 16, .red = (void *)0x20000, .blue = (void *)0x30000};
	const struct v4l2_format format = {.type = V4L2_BUF_TYPE_VIDEO_OVERLAY};

	(void)state;
	put(BASE, &command, sizeof command);
	ENTER(ioctl, 3, SG_IO, BASE);
	EXIT(0);
	expect("10000+88 30000+18 20000+512");
	other.iovec_count = 2;
	other.dxferp = (void *)(BASE + 128);
	put(BASE, &other, sizeof other);
	put(BASE + 128, vectors, sizeof vectors);
	ENTER(ioctl, 3, SG_IO, BASE);
	EXIT(0);
	expect("10000+88 30000+18 40000+100 50000+8");
	other.flags = SG_FLAG_DIRECT_IO;
	put(BASE, &other, sizeof other);
	ENTER(ioctl, 3, SG_IO, BASE);
	assert_int_equal(found.known, SYSCALL_RANGES_UNKNOWN);
	put(BASE, &bus, sizeof bus);
	put(BASE + 64, messages, sizeof messages);
	ENTER(ioctl, 3, I2C_RDWR, BASE);
	EXIT(2);
	expect("60000+7");
	put(BASE, &mask, sizeof mask);
	ENTER(ioctl, 3, EVIOCGMASK, BASE);
	EXIT(0);
	expect("80000+24");
	put(BASE, &colours, sizeof colours);
	ENTER(ioctl, 3, FBIOGETCMAP, BASE);
	EXIT(0);
	expect("20000+32 30000+32");
	put_u32(BASE, 5);
	put_u32(BASE + 4, 100);
	ENTER(ioctl, 3, 1, BASE); /* FIBMAP, or SCSI_IOCTL_SEND_COMMAND */
	EXIT(0);
	expect("10000+4 10008+100");
	put_u32(BASE, 5000);
	ENTER(ioctl, 3, 1, BASE);
	EXIT(0);
	expect("10000+4");
	put(BASE, &format, sizeof format);
	ENTER(ioctl, 3, VIDIOC_G_FMT, BASE);
	assert_int_equal(found.known, SYSCALL_RANGES_UNKNOWN);
	put_u32(BASE, V4L2_BUF_TYPE_VIDEO_CAPTURE);
	ENTER(ioctl, 3, VIDIOC_G_FMT, BASE);
	EXIT(0);
	expect("10000+208");
	put_u32(BASE + 4, 12);
	ENTER(ioctl, 3, SNDRV_CTL_IOCTL_TLV_READ, BASE);
	EXIT(0);
	expect("10000+8 10008+12");
	put_u32(BASE, sizeof(struct fscrypt_policy_v2));
	put_u32(BASE + 4, 0);
	ENTER(ioctl, 3, FS_IOC_GET_ENCRYPTION_POLICY_EX, BASE); /* the size is answered, too */
	EXIT(0);
	expect("10000+8 10008+24");
	ENTER(ioctl, 3, BLKSECTGET, BASE); /* of a SCSI device by /dev/sg it is an int */
	EXIT(0);
	expect("10000+4");
	memset(fake.bytes, 0, sizeof fake.bytes);
}

/* They are searched in halves. */
static void requests_stand_in_their_order(void **state)
{
	static const uint32_t rows[] = {
#define BT_SIZED(number, id) (number),
#define BT_ANY_SIZE(way, type, first, last, id)
#include "syscalls/sized_requests.def"
#undef BT_ANY_SIZE
#undef BT_SIZED
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(sized_request_is_true(rows[i]) && sized_request_has_size(rows[i]));
		if (i)
			assert_true((rows[i - 1] << 16 | rows[i - 1] >> 16) <
				    (rows[i] << 16 | rows[i] >> 16));
	}
}

/* Numbers that overflow, vectors without end, structures at the edge of memory. */
static void hostile_numbers_stay_within_bounds(void **state)
{
	(void)state;
	ENTER(read, 0, UINT64_MAX - 10, UINT64_MAX);
	expect("fffffffffffffff5+10");
	ENTER(msgrcv, 0, UINT64_MAX - 3, 100, 0, 0); /* not even the type has room */
	EXIT(2);
	expect("fffffffffffffffc+3");
	ENTER(msgrcv, 0, BASE, 100, 0, 0);
	EXIT(2);
	expect("10000+10");
	ENTER(move_pages, 0, UINT64_MAX / 2, 0, 0, BASE);
	EXIT(0);
	assert_int_equal(found.count, 1);
	assert_true(room[0].length <= UINT64_MAX - BASE);
	fake.reads = 0;
	ENTER(readv, 0, BASE, UINT64_MAX); /* more than UIO_MAXIOV: refused */
	assert_int_equal(fake.reads, 0);
	ENTER(readv, 0, BASE + MEMORY - 8, 1);
	expect("");
	memset(fake.bytes, 0xff, sizeof fake.bytes);
	fake.reads = 0;
	ENTER(recvmmsg, 0, BASE, UINT32_MAX, 0, 0);
	assert_true(fake.reads < 4096);
	ENTER(sendmmsg, 0, BASE, UINT32_MAX, 0);
	EXIT(UINT32_MAX);
	assert_true(found.count <= 1024);
	ENTER(ioctl, 0, 0xc020660b, BASE); /* FS_IOC_FIEMAP of 2^32 - 1 extents */
	EXIT(0);
	expect("10000+32 10020+240518168520");
	memset(fake.bytes, 0, sizeof fake.bytes);
}

static void without_room_a_call_is_unknown(void **state)
{
	(void)state;
	found = (struct syscall_ranges){.room = 1, .ranges = room};
	syscall_ranges_enter(SYSCALL_NR_getresuid, (const uint64_t[SYSCALL_ARGS]){16, 32, 48},
			     &memory, &found);
	assert_int_equal(found.known, SYSCALL_RANGES_UNKNOWN);
	assert_int_equal(found.count, 1);
}

/* Each call and operation with arguments of an attacker, and each result: no crash, no range that
 * wraps around (and no sanitizer's word). */
static void any_call_with_any_numbers_is_evaluated(void **state)
{
	static const uint64_t odd[] = {0,          1,          BASE,       BASE + 1,   BASE + 4090,
				       0x7fffffff, 0x80000000, 0xffffffff, UINT64_MAX, BASE + 64};
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof fake.bytes; i++)
		fake.bytes[i] = (uint8_t)(i * 37);
	for (unsigned round = 0; round < 100; round++)
		for (uint64_t nr = 0; nr < 480; nr++) {
			uint64_t args[SYSCALL_ARGS];

			for (size_t k = 0; k < SYSCALL_ARGS; k++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				args[k] = seed >> 60 ? odd[(seed >> 33) % ARRAY_SIZE(odd)]
						     : seed >> 40;
			}
			enter(nr, args);
			EXIT(args[seed % SYSCALL_ARGS]);
			assert_true(found.count <= ARRAY_SIZE(room));
			for (size_t k = 0; k < found.count; k++)
				assert_true(room[k].start && room[k].length &&
					    room[k].length <= UINT64_MAX - room[k].start);
		}
	memset(fake.bytes, 0, sizeof fake.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_has_a_row),
		cmocka_unit_test(structures_have_the_size_that_the_system_s_headers_say),
		cmocka_unit_test(a_fixed_size_is_written_when_the_call_succeeds),
		cmocka_unit_test(a_result_cuts_what_an_argument_allows),
		cmocka_unit_test(an_argument_says_how_many),
		cmocka_unit_test(a_length_in_memory_is_the_least_of_before_and_after),
		cmocka_unit_test(a_length_that_the_output_covers_is_not_believed),
		cmocka_unit_test(filters_of_a_socket_are_counted_in_instructions),
		cmocka_unit_test(options_of_sockets_that_write_elsewhere_are_unknown),
		cmocka_unit_test(vectors_are_filled_in_order),
		cmocka_unit_test(a_message_has_a_name_control_and_vectors),
		cmocka_unit_test(attributes_that_had_room_are_written_though_others_had_none),
		cmocka_unit_test(of_many_messages_those_that_came_are_written),
		cmocka_unit_test(ancillary_data_of_the_first_message_that_does_not_come_is_written),
		cmocka_unit_test(what_remains_of_a_sleep_is_written_when_it_was_broken_off),
		cmocka_unit_test(each_block_that_is_submitted_gets_a_key),
		cmocka_unit_test(an_address_that_is_bad_may_have_a_part_before_it),
		cmocka_unit_test(operations_have_rows_of_their_own),
		cmocka_unit_test(an_unknown_operation_is_unknown_unless_it_was_refused),
		cmocka_unit_test(requests_have_rows_or_a_size_in_their_number),
		cmocka_unit_test(requests_say_where_and_how_much),
		cmocka_unit_test(requests_stand_in_their_order),
		cmocka_unit_test(hostile_numbers_stay_within_bounds),
		cmocka_unit_test(without_room_a_call_is_unknown),
		cmocka_unit_test(any_call_with_any_numbers_is_evaluated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

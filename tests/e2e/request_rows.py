#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Requests of ioctl in the system's headers: each has a row (syscalls/ioctl_writes.def), or a number that tells the truth
# (sized_requests.def), or a reason why memory is compared for it. Headers that are newer than what was read may have more: those
# are told, and are no failure.
from e2e import *

KNOWN = find_tool("KNOWN_REQUESTS", "tests/tools/known_requests")
READ_TO = (6, 1)  # Linux, of whose headers each request was looked at
HEADERS = """asm-generic/ioctls.h asm-generic/sockios.h linux/blkpg.h linux/blkzoned.h linux/btrfs.h linux/cdrom.h linux/cec.h linux/fb.h linux/fs.h
    linux/fscrypt.h linux/fsverity.h linux/gpio.h linux/hdreg.h linux/hiddev.h linux/hidraw.h linux/i2c-dev.h linux/if_tun.h linux/input.h linux/joystick.h
    linux/kd.h linux/lirc.h linux/loop.h linux/media.h linux/msdos_fs.h linux/mtio.h linux/nsfs.h linux/perf_event.h linux/ppp-ioctl.h linux/random.h
    linux/rtc.h linux/sockios.h linux/spi/spidev.h linux/uinput.h linux/usbdevice_fs.h linux/v4l2-subdev.h linux/videodev2.h linux/vm_sockets.h linux/vt.h
    linux/watchdog.h scsi/scsi_ioctl.h scsi/sg.h sound/asequencer.h sound/asound.h sound/compress_offload.h""".split()
# What they need before them, as programs have it.
BEFORE = "".join("#include <%s>\n" % name for name in ("stdint.h", "stdbool.h", "stdio.h", "time.h", "sys/types.h", "sys/ioctl.h", "sys/socket.h", "linux/types.h",
                                                      "linux/if.h", "linux/serial.h", "linux/blktrace_api.h"))
# How a request is written: by one of _IOC's makers, or of old as a number of a type that the header has.
MADE = re.compile(r"\b_IO(C|R|W|WR)?\s*\(|\b[A-Z0-9]+_(IO|IOR|IOW|IOWR)\s*\(|\b(UI|EVIOC)\w+\(")
OLD = re.compile(r"^\(?0x(03|07|12|22|4[bB6cC]|53|54|56|89)[0-9a-fA-F]{2}\)?( |$)")
# What is written like one.
NONE = re.compile(r"SIOC(DEVPRIVATE|PROTOPRIVATE)|SNDRV_CTL_POWER_\w+|\w+_(VERSION|MAGIC)|I2C_(M|FUNC|SMBUS)_\w+|_\w+")
COMPARED = {
    r"GIO_FONTX": "its characters lie elsewhere; gone since Linux 5.12",
    r"KDFONTOP": "width, height and number of its characters say how much lies elsewhere",
    r"TCGETX|TIOCSERG(STRUCT|ETMULTI)": "drivers of old had structures of their own",
    r"FBIO_CURSOR|FBIO_ALLOC|FBIO_FREE|FBIOGET_(GLYPH|HWCINFO|DISPINFO)|FBIOPUT_MODEINFO": "drivers of old had structures of their own",
    r"SG_IO": "its version 4 is another structure; version 3 has a function",
    r"CDROM_SEND_PACKET": "addresses in its structure",
    r"RNDGETPOOL": "gone since Linux 2.6.9",
    r"BTRFS_IOC_ENCODED_READ": "vectors in its structure",
    r"VIDIOC_(QUERYBUF|QBUF|DQBUF|PREPARE_BUF)": "planes of a buffer lie elsewhere, and its contents",
    r"VIDIOC_(G|S|TRY)_EXT_CTRLS": "strings and arrays of controls lie elsewhere",
    r"MEDIA_IOC_(ENUM_LINKS|G_TOPOLOGY)": "lists whose lengths other requests say",
    r"SNDRV_PCM_IOCTL_READ[IN]_FRAMES": "how large a frame is, the device alone knows",
    r"USBDEVFS_REAPURB(NDELAY)?(32)?": "an earlier request said where to",
    r"USBDEVFS_IOCTL": "a request of a driver's own is in it",
    r"SIOC(GIFBR|SIFBR|BONDINFOQUERY|BONDSLAVEINFOQUERY|WANDEV|ADDDLCI|DELDLCI|ETHTOOL)": "an address of a structure that depends on the operation",
    r"HDIO_DRIVE_(RESET|TASKFILE)": "drivers of old had structures of their own",
}


def version():
    found = re.search(r"LINUX_VERSION_CODE (\d+)", compiled("linux/version.h", ""))
    return (int(found[1]) >> 16, int(found[1]) >> 8 & 255) if found else (0, 0)


def compiled(header, before):
    """What the preprocessor makes of a header, with its macros; "" where the system does not have it."""
    result = subprocess.run([*CC, "-E", "-dD", "-"], input="%s#include <%s>\n" % (before, header), capture_output=True, text=True)
    return result.stdout if not result.returncode else ""


def names_of(header):
    names, here = {}, False
    for line in compiled(header, BEFORE).splitlines():
        place = re.match(r'# \d+ "([^"]*)"', line)
        if place:
            here = place[1].endswith("/" + header)
        macro = re.match(r"#define (\w+) (.*)", line)
        if here and macro and (MADE.search(macro[2]) or OLD.search(macro[2])) and not NONE.fullmatch(macro[1]):
            names[macro[1]] = True
    return list(names)


def numbers_of(header, names, folder):
    """{name: number}; names whose structures the headers do not have are left out."""
    path, program = os.path.join(folder, "names.c"), os.path.join(folder, "names")
    while names:
        with open(path, "w") as f:
            f.write("%s#include <%s>\nint main(void) {\n" % (BEFORE, header))
            first = BEFORE.count("\n") + 3
            f.writelines('printf("%%x %s\\n", (unsigned)(%s));\n' % (name, name) for name in names)
            f.write("return 0; }\n")
        result = subprocess.run([*CC, "-w", "-fmax-errors=0", path, "-o", program], capture_output=True, text=True)
        if not result.returncode:
            said = subprocess.run([program], capture_output=True, text=True).stdout
            return {name: number for number, name in (line.split() for line in said.splitlines())}
        wrong = {int(n) - first for n in re.findall(r"names\.c:(\d+):\d+: error", result.stderr)}
        left = [name for i, name in enumerate(names) if i not in wrong]
        check(len(left) < len(names), "%s: %s" % (header, result.stderr[:500]))
        names = left
    return {}


@case("each request of the headers has a row, or a number that tells the truth, or a reason to compare memory")
def rows():
    folder, found, absent = fresh_dir("requests"), {}, []
    for header in HEADERS:
        names = names_of(header)
        if names:
            found.update({(header, name): number for name, number in numbers_of(header, names, folder).items()})
        else:
            absent.append(header)
    check(len(found) > 500, "%d requests were found" % len(found))
    answers = subprocess.run([KNOWN], input="\n".join(found.values()), capture_output=True, text=True).stdout.split()
    equal(len(answers), len(found), "answers")
    left = {name: (header, answer) for ((header, name), answer) in zip(found, answers) if answer != "known"}
    reasons = {name: pattern for name in left for pattern in COMPARED if re.fullmatch(pattern, name)}
    without = sorted("%s %s: %s" % (header, name, answer) for name, (header, answer) in left.items() if name not in reasons)
    print("%d requests, of %d memory is compared; headers that are not here: %s" % (len(found), len(reasons), " ".join(absent) or "none"))
    if version() > READ_TO:
        print("the headers are of Linux %d.%d; without a row: %s" % (*version(), ", ".join(without) or "none"))
        return
    equal(without, [], "requests without a row, and without a reason")
    idle = [pattern for pattern in COMPARED if pattern not in reasons.values()]
    equal(idle if not absent else [], [], "reasons of requests that have rows, or are not there")


main()
